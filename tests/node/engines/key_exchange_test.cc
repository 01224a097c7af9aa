// Tasks that tell each other their keys: under all orders, with what an earlier life or somebody else has left.
#include "node/engines/key_exchange.h"

#include <boost/test/unit_test.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/node/engines/word_proof.h"
#include "tests/support/expect_throw.h"
#include "tests/support/temporary_directory.h"

namespace troupe::detail {
namespace {

namespace fs = std::filesystem;
using boost::unit_test::label;
using troupe::testing::expect_throw;
using troupe::testing::TemporaryDirectory;
using troupe::testing::WordProof;

const std::vector<std::string> kTaskNames{"ps", "trainer0", "trainer1"};
const std::string kJob = "slurm-test-1.0";
const std::string kSeed = "tcp://10.0.0.1:4000";

/// One life of a job: its tasks start and go on when the test says so.
class Life {
 public:
  explicit Life(fs::path path, std::vector<std::string> names = kTaskNames)
      : path_(std::move(path)), names_(std::move(names)), tasks_(names_.size()), results_(names_.size()) {}

  /// What the task has when it starts.
  void prove(std::size_t rank, std::shared_ptr<RecordProof> proof) { proofs_[rank] = {std::move(proof), ""}; }

  void start(std::size_t rank, std::vector<std::string> names = {}) {
    tasks_[rank].emplace(ExchangeRequest{.directory = path_,
                                         .job = kJob,
                                         .names = names.empty() ? names_ : std::move(names),
                                         .rank = rank,
                                         .host = "node" + std::to_string(rank / 2),
                                         .cluster_id = "0123456789abcdef",
                                         .listen =
                                             [this](const std::vector<std::string>& hosts) {
                                               other_hosts = hosts;
                                               return kSeed;
                                             },
                                         .proof = proofs_[rank]});
  }

  void start_all() {
    for (std::size_t rank = 0; rank < names_.size(); ++rank) start(rank);
  }

  /// Returns whether the task has its result now.
  bool step(std::size_t rank) {
    if (!tasks_[rank] || results_[rank]) return results_[rank].has_value();
    if (auto result = tasks_[rank]->step()) results_[rank].emplace(*std::move(result));
    return results_[rank].has_value();
  }

  /// Steps all tasks in turn until all have a result, at most so often.
  bool complete(int rounds = 10) {
    for (int round = 0; round < rounds; ++round) {
      bool all = true;
      for (std::size_t rank = 0; rank < names_.size(); ++rank) all = step(rank) && all;
      if (all) return true;
    }
    return false;
  }

  [[nodiscard]] const KeyExchange& task(std::size_t rank) const { return *tasks_[rank]; }
  [[nodiscard]] KeyExchange& task(std::size_t rank) { return *tasks_[rank]; }
  [[nodiscard]] const ExchangedRun& result(std::size_t rank) const { return results_[rank].value(); }

  std::vector<std::string> other_hosts{"never asked"};

 private:
  fs::path path_;
  std::vector<std::string> names_;
  std::deque<std::optional<KeyExchange>> tasks_;
  std::deque<std::optional<ExchangedRun>> results_;
  std::map<std::size_t, ProofChoice> proofs_;
};

std::string file_text(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const fs::path& path, const std::string& text) {
  std::ofstream(path) << text;
  chmod(path.c_str(), 0600);
}

/// Checks that all tasks have each other's keys, and only these.
void check_agreement(const Life& life, std::size_t tasks) {
  for (std::size_t rank = 0; rank < tasks; ++rank) {
    const ExchangedRun& run = life.result(rank);
    BOOST_TEST(run.cluster_id == "0123456789abcdef");
    BOOST_TEST(run.seed == kSeed);
    BOOST_TEST(std::ranges::equal(run.secret.bytes(), life.result(0).secret.bytes()));
    BOOST_TEST_REQUIRE(run.keys.members().size() == tasks);
    for (std::size_t other = 0; other < tasks; ++other) {
      BOOST_TEST((run.keys.members()[other].key == life.result(other).keys.own_keys().public_key()));
    }
  }
}

struct ExchangePlace {
  TemporaryDirectory base;
  fs::path path = base.path() / kJob;
};

BOOST_FIXTURE_TEST_SUITE(key_exchange, ExchangePlace)

BOOST_AUTO_TEST_CASE(tasks_know_each_others_keys_in_whatever_order_they_come) {
  std::array<std::size_t, 3> order{0, 1, 2};
  do {
    Life life(path);
    for (const std::size_t late : order) {
      life.start(late);
      for (const std::size_t rank : order) BOOST_TEST(!life.step(rank));
    }
    BOOST_TEST(life.complete());
    check_agreement(life, 3);
    BOOST_TEST(!fs::exists(path));
  } while (std::ranges::next_permutation(order).found);
}

BOOST_AUTO_TEST_CASE(rank_0_hears_the_names_of_other_hosts_before_it_listens) {
  Life life(path);
  life.start_all();
  BOOST_TEST(life.complete());
  BOOST_TEST(life.other_hosts == std::vector<std::string>{"node1"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_task_alone_waits_for_nobody) {
  Life life(path, {"ps"});
  life.start(0);
  BOOST_TEST(life.step(0));
  check_agreement(life, 1);
  BOOST_TEST(!fs::exists(path));
}

BOOST_AUTO_TEST_CASE(the_directory_stays_until_every_task_has_taken_the_run) {
  Life life(path);
  life.start_all();
  for (const std::size_t rank : {1U, 2U, 0U, 1U}) life.step(rank);
  BOOST_TEST(!life.step(0));
  BOOST_TEST(life.task(0).awaited() == "rank 2 (trainer1) did not take the keys of all");
  BOOST_TEST(life.step(2));
  BOOST_TEST(life.step(0));
  BOOST_TEST(!fs::exists(path));
}

BOOST_AUTO_TEST_CASE(nobody_who_reads_the_files_learns_the_secret) {
  Life life(path);
  life.start_all();
  for (const std::size_t rank : {1U, 2U, 0U}) life.step(rank);
  const std::string run = file_text(path / "run");
  BOOST_TEST(life.complete());
  std::string digits;
  for (const std::byte each : life.result(0).secret.bytes()) {
    constexpr const char* kDigits = "0123456789abcdef";
    digits += kDigits[std::to_integer<unsigned>(each) >> 4U];
    digits += kDigits[std::to_integer<unsigned>(each) & 15U];
  }
  BOOST_TEST(!run.empty());
  for (std::size_t at = 0; at + 16 <= digits.size(); ++at) {
    BOOST_TEST(run.find(digits.substr(at, 16)) == std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(keys_of_an_earlier_life_are_never_taken) {
  for (const bool seed_comes_first : {true, false}) {
    Life earlier(path);
    earlier.start_all();
    for (const std::size_t rank : {1U, 2U, 0U, 1U}) earlier.step(rank);  // 1 has taken its run, then all die
    BOOST_TEST_REQUIRE(fs::exists(path / "run"));
    BOOST_TEST_REQUIRE(fs::exists(path / "1.done"));
    Life life(path);
    if (seed_comes_first) {
      life.start(0);
      for (int i = 0; i < 3; ++i) BOOST_TEST(!life.step(0));
      life.start(1);
      life.start(2);
    } else {
      life.start(1);
      life.start(2);
      for (const std::size_t rank : {1U, 2U, 1U, 2U}) BOOST_TEST(!life.step(rank));
      life.start(0);
    }
    for (int i = 0; i < 2; ++i) BOOST_TEST(!life.step(0));
    BOOST_TEST(life.complete());
    check_agreement(life, 3);
    BOOST_TEST(!fs::exists(path));
  }
}

BOOST_AUTO_TEST_CASE(an_end_that_an_earlier_life_has_left_does_not_count) {
  Life earlier(path);
  earlier.start_all();
  for (const std::size_t rank : {1U, 2U, 0U, 1U, 2U}) earlier.step(rank);
  Life life(path);
  life.start_all();
  for (const std::size_t rank : {1U, 2U, 0U}) life.step(rank);
  BOOST_TEST(!life.step(0));
  BOOST_TEST(!life.step(0));
  BOOST_TEST(fs::exists(path / "run"));
  BOOST_TEST(life.complete());
  check_agreement(life, 3);
}

BOOST_AUTO_TEST_CASE(another_cluster_file_in_an_earlier_life_does_no_harm) {
  Life earlier(path, {"master", "worker0", "worker1", "worker2"});
  earlier.start_all();
  for (const std::size_t rank : {1U, 2U, 3U, 0U}) earlier.step(rank);
  Life life(path);
  for (const std::size_t rank : {1U, 2U}) life.start(rank);
  for (const std::size_t rank : {1U, 2U}) BOOST_TEST(!life.step(rank));
  life.start(0);
  BOOST_TEST(life.complete());
  check_agreement(life, 3);
  BOOST_TEST(!fs::exists(path));
}

BOOST_AUTO_TEST_CASE(a_missing_rank_is_named_when_the_patience_is_over) {
  Life life(path);
  life.start(0);
  life.start(1);
  TimePoint now{};
  std::vector<Duration> pauses;
  const ExchangeWaiting waiting{.now = [&] { return now; },
                                .pause =
                                    [&](Duration pause) {
                                      pauses.push_back(pause);
                                      now += pause;
                                      life.step(1);
                                    },
                                .patience = std::chrono::seconds(30)};
  expect_throw<ExchangeError>([&] { return finish(life.task(0), waiting); },
                              "nothing from rank 2 (trainer1) within 30 s (cluster.join_timeout) in " + path.string() +
                                  ", which all tasks must see: --job-dir says where it is");
  BOOST_TEST(now.time_since_epoch() == std::chrono::seconds(30));
  BOOST_TEST(pauses.front() == std::chrono::milliseconds(10));
  BOOST_TEST(*std::ranges::max_element(pauses) == std::chrono::milliseconds(500));
  BOOST_TEST(life.task(1).awaited() == "nothing from rank 2 (trainer1)");
  Life alone(base.path() / "other");
  alone.start(2);
  BOOST_TEST(!alone.step(2));
  BOOST_TEST(alone.task(2).awaited() == "nothing from ranks 0, 1 (ps, trainer0)");
}

BOOST_AUTO_TEST_CASE(tasks_with_proofs_agree_and_check_each_file_once) {
  Life life(path);
  std::vector<std::shared_ptr<WordProof>> proofs;
  for (std::size_t rank = 0; rank < 3; ++rank) {
    proofs.push_back(std::make_shared<WordProof>("tom"));
    life.prove(rank, proofs.back());
  }
  life.start_all();
  BOOST_TEST(file_text(path / "0.key").starts_with("proof tom/"));
  for (int i = 0; i < 4; ++i) BOOST_TEST(!life.step(1));
  BOOST_TEST(proofs[1]->checks == 1);  // 0.key
  BOOST_TEST(life.complete());
  check_agreement(life, 3);
  BOOST_TEST(proofs[0]->checks == 4);  // 1.key, 2.key, 1.done, 2.done
}

BOOST_AUTO_TEST_CASE(a_record_that_somebody_else_has_written_is_not_taken_and_is_named, *label("attack")) {
  Life life(path);
  for (std::size_t rank = 0; rank < 3; ++rank) life.prove(rank, std::make_shared<WordProof>("tom"));
  life.start_all();
  for (const std::size_t rank : {1U, 2U}) life.step(rank);
  const std::string genuine = file_text(path / "2.key");
  const std::string text = genuine.substr(genuine.find('\n') + 1);
  write_file(path / "2.key", WordProof("eve").of(text) + "\n" + text);
  BOOST_TEST(!life.step(0));
  BOOST_TEST(
      life.task(0).awaited() ==
      "nothing from rank 2 (trainer1); 2.key: it has no MUNGE credential, and this task has MUNGE: `--munge off` "
      "lets all tasks do without");
  write_file(path / "2.key", "proof " + WordProof("eve").of(text) + "\n" + text);
  BOOST_TEST(!life.step(0));
  BOOST_TEST(life.task(0).awaited(" so far").starts_with("nothing from rank 2 (trainer1) so far; 2.key: eve/"));
  write_file(path / "2.key", genuine);
  const std::string first = file_text(path / "0.key");
  write_file(path / "0.key", first.substr(first.find('\n') + 1));
  BOOST_TEST(!life.step(1));
  BOOST_TEST(life.task(1).awaited().find("; 0.key: it has no MUNGE") != std::string::npos);
  write_file(path / "0.key", first);
  BOOST_TEST(!life.step(1));
  BOOST_TEST(life.task(1).awaited() == "nothing more from rank 0 (ps), although all are there");
  BOOST_TEST(!life.step(0));
  const std::string run = file_text(path / "run");
  write_file(path / "run", run.substr(run.find('\n') + 1));
  BOOST_TEST(!life.step(1));
  BOOST_TEST(life.task(1).awaited().find("; run: it has no MUNGE credential") != std::string::npos);
  write_file(path / "run", run);
  BOOST_TEST(life.complete());
}

BOOST_AUTO_TEST_CASE(a_truncated_record_is_not_taken_and_is_named) {
  Life life(path);
  life.start_all();
  for (const std::size_t rank : {1U, 2U}) life.step(rank);
  const std::string whole = file_text(path / "2.key");
  write_file(path / "2.key", whole.substr(0, whole.size() - 9));
  BOOST_TEST(!life.step(0));
  BOOST_TEST(life.task(0).awaited() == "nothing from rank 2 (trainer1); 2.key: line 7: \"answers\" is not there");
  write_file(path / "2.key", whole);
  BOOST_TEST(life.complete());
  check_agreement(life, 3);
}

BOOST_AUTO_TEST_CASE(a_truncated_run_is_not_taken) {
  Life life(path);
  life.start_all();
  for (const std::size_t rank : {1U, 2U, 0U}) life.step(rank);
  const std::string whole = file_text(path / "run");
  write_file(path / "run", whole.substr(0, whole.rfind("member")));
  BOOST_TEST(!life.step(1));
  write_file(path / "run", whole.substr(0, whole.size() - 1));
  BOOST_TEST(!life.step(1));
  BOOST_TEST(life.task(1).awaited() ==
             "nothing more from rank 0 (ps), although all are there; run: line 7: \"member\" is not there");
  write_file(path / "run", whole);
  BOOST_TEST(life.complete());
}

BOOST_AUTO_TEST_CASE(links_and_huge_files_end_the_exchange) {
  Life life(path);
  life.start(0);
  fs::create_symlink(base.path() / "anything", path / "1.key");
  expect_throw<JobDirectoryError>([&] { return life.step(0); }, (path / "1.key").string() + " is a symbolic link");
  fs::remove(path / "1.key");
  const std::size_t most = TaskRecord::kBytesMax + ProvedFiles::kBytesMax;
  write_file(path / "1.key", std::string(most + 1, 'x'));
  expect_throw<JobDirectoryError>([&] { return life.step(0); },
                                  (path / "1.key").string() + " has more than " + std::to_string(most) + " bytes");
}

BOOST_AUTO_TEST_CASE(a_key_that_belongs_to_another_rank_is_refused) {
  Life life(path);
  life.start_all();
  for (const std::size_t rank : {1U, 2U}) life.step(rank);
  TaskRecord forged = parse_task(file_text(path / "2.key"));
  forged.key = parse_task(file_text(path / "1.key")).key;
  write_file(path / "2.key", text_of(forged));
  expect_throw<ExchangeError>([&] { return life.step(0); },
                              "the key ring gives \"trainer1\" the key of another member");
  BOOST_TEST(!fs::exists(path / "run"));
}

BOOST_AUTO_TEST_CASE(a_record_in_the_file_of_another_rank_is_refused) {
  Life life(path);
  life.start(0);
  life.start(1);
  life.step(1);
  write_file(path / "2.key", file_text(path / "1.key"));
  expect_throw<ExchangeError>([&] { return life.step(0); }, (path / "2.key").string() + " says that it is of rank 1");
}

BOOST_AUTO_TEST_CASE(tasks_with_different_cluster_files_are_told_so) {
  Life life(path);
  life.start(0);
  life.start(1, {"ps", "worker0", "worker1"});
  life.step(1);
  expect_throw<ExchangeError>(
      [&] { return life.step(0); },
      "rank 1 on host node0 takes itself for worker0, here it is trainer0: the cluster file must be the same on all "
      "hosts");
  Life other(base.path() / "other");
  other.start_all();
  other.start(1, {"ps", "trainer0", "helper"});
  for (const std::size_t rank : {1U, 2U, 0U}) other.step(rank);
  expect_throw<ExchangeError>(
      [&] { return other.step(1); },
      "rank 0 calls rank 2 trainer1, here it is helper: the cluster file must be the same on all hosts");
}

BOOST_AUTO_TEST_CASE(a_record_of_another_job_is_refused) {
  Life life(path);
  life.start(0);
  life.start(1);
  life.step(1);
  TaskRecord other = parse_task(file_text(path / "1.key"));
  other.job = "slurm-test-2.0";
  write_file(path / "1.key", text_of(other));
  expect_throw<ExchangeError>([&] { return life.step(0); },
                              (path / "1.key").string() + " is of job slurm-test-2.0, this one is slurm-test-1.0");
}

BOOST_AUTO_TEST_CASE(a_secret_that_rank_0_has_not_sealed_is_refused) {
  Life life(path);
  life.start_all();
  for (const std::size_t rank : {1U, 2U, 0U}) life.step(rank);
  RunRecord forged = parse_run(file_text(path / "run"), 3);
  forged.members[1].secret = forged.members[2].secret;
  write_file(path / "run", text_of(forged));
  expect_throw<ExchangeError>([&] { return life.step(1); }, "rank 0 has not sealed the cluster's secret for this task");
}

BOOST_AUTO_TEST_CASE(a_name_that_occurs_twice_is_refused) {
  Life life(path);
  const std::vector<std::string> twice{"ps", "trainer0", "trainer0"};
  life.start(0, twice);
  life.start(1, twice);
  life.start(2, twice);
  for (const std::size_t rank : {1U, 2U}) life.step(rank);
  expect_throw<ExchangeError>([&] { return life.step(0); }, "the key ring names \"trainer0\" twice");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::detail
