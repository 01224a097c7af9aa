// Checkpoints of samples: their options, and trainings whose processes are all killed.
#include "samples/saves.h"

#include <signal.h>

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "actors/checkpoint/checkpoint.h"
#include "node/local_cluster.h"
#include "tensor/io/checkpoint_files.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/troupe_run.h"

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;
using samples::SavedNumbers;
using samples::SaveOptions;

/// Returns the text of the std::invalid_argument that `body` throws.
template <class Body>
std::string complaint_of(const Body& body) {
  try {
    body();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "nothing thrown";
}

struct Options : TemporaryDirectory {
  [[nodiscard]] std::string run() const { return (path() / "run").string(); }

  LocalCluster cluster{{"n"}, {}};
};

/// A sample that trains, in a short form.
struct Training {
  std::string sample;
  std::string role;     ///< whose command has the options
  std::string command;  ///< its words, each with a space after it
  std::string epoch;    ///< a line of the output has it when a checkpoint is there and more is to be done
  std::vector<std::string> settings{};  ///< of the cluster file
};

struct Killed : TemporaryDirectory {
  /// Starts the training in all its processes, whose programs are in the PATH.
  [[nodiscard]] TroupeRun up(const Training& training, const std::string& run, const std::string& more = "") const {
    std::string command = training.command + " --checkpoint " + (path() / run).string() + more;
    for (std::size_t at = 0; (at = command.find(' ', at)) != std::string::npos; at += 4)
      command.replace(at, 1, "\", \"");
    std::vector<std::string> arguments{"up", "samples/" + training.sample + "/cluster.toml"};
    for (const std::string& setting : training.settings) arguments.insert(arguments.end(), {"--set", setting});
    arguments.insert(arguments.end(), {"--set", "role." + training.role + ".command=[\"" + command + "\"]"});
    return TroupeRun(TROUPE_SOURCE_DIR, arguments, 100s);
  }

  /// Returns the checkpoint of a run, without what depends on the time.
  [[nodiscard]] std::vector<CheckpointFile> saved(const std::string& run) const {
    std::vector<CheckpointFile> files = read_checkpoint(path() / run);
    std::erase_if(files, [](const CheckpointFile& file) { return file.part == "times"; });
    return files;
  }

  void check_bits(const std::vector<CheckpointFile>& a, const std::vector<CheckpointFile>& b) const {
    BOOST_TEST_REQUIRE(a.size() == b.size());
    for (std::size_t file = 0; file < a.size(); ++file) {
      const NamedTensors& tensors = a[file].content.tensors;
      BOOST_TEST_REQUIRE(tensors.size() == b[file].content.tensors.size());
      for (std::size_t i = 0; i < tensors.size(); ++i) {
        const auto& [name, tensor] = b[file].content.tensors[i];
        BOOST_TEST(tensors[i].first == name);
        BOOST_TEST(same_bytes(tensors[i].second, tensor), a[file].part << ": " << name << " differs");
      }
    }
  }

  /// Kills all processes in the middle, resumes, and compares with a run that was not killed.
  void check(const Training& training) const {
    TroupeRun unbroken = up(training, "unbroken");
    const TroupeRun::Result expected = unbroken.finish();
    BOOST_TEST(expected.status == 0);
    {
      TroupeRun broken = up(training, "broken");
      broken.wait_for(training.epoch);
      broken.signal(SIGKILL);
      BOOST_TEST(broken.all_gone());
    }
    TroupeRun resumed = up(training, "broken", " --resume");
    resumed.wait_for("goes on after ");
    const TroupeRun::Result result = resumed.finish();
    BOOST_TEST(result.status == 0);
    BOOST_TEST(result.last() == expected.last());
    check_bits(saved("unbroken"), saved("broken"));
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(saves)

BOOST_FIXTURE_TEST_CASE(resume_without_a_checkpoint_is_refused_with_a_hint, Options) {
  const SaveOptions options{.directory = run(), .resume = true};
  const std::string expected =
      "[--resume] " + run() + ": no checkpoint; without --resume the training begins, and saves there";
  BOOST_TEST(complaint_of([&] { options.check(); }) == expected);
  BOOST_TEST(complaint_of([&] { static_cast<void>(options.restore(cluster.node("n"), Checkpoint())); }) == expected);
}

BOOST_FIXTURE_TEST_CASE(a_training_that_begins_overwrites_no_checkpoint, Options) {
  std::int64_t steps = 5;
  Checkpoint parts;
  parts.add("steps", steps);
  const SaveOptions begin{.directory = run()};
  BOOST_TEST(!begin.restore(cluster.node("n"), parts));
  begin.save(cluster.node("n"), parts);
  begin.save(cluster.node("n"), parts);  // its own one may be replaced
  BOOST_TEST(complaint_of([&] { static_cast<void>(begin.restore(cluster.node("n"), parts)); }) ==
             "[--checkpoint] " + run() + ": a checkpoint is there; add --resume to go on from it");

  steps = 0;
  BOOST_TEST((SaveOptions{.directory = run(), .resume = true}.restore(cluster.node("n"), parts)));
  BOOST_TEST(steps == 5);
}

BOOST_FIXTURE_TEST_CASE(without_a_directory_nothing_is_saved, Options) {
  const SaveOptions none;
  BOOST_TEST(!none.restore(cluster.node("n"), Checkpoint()));
  none.save(cluster.node("n"), Checkpoint());
  BOOST_TEST(std::filesystem::is_empty(path()));
}

BOOST_AUTO_TEST_CASE(numbers_are_those_of_the_saved_run) {
  double loss = 0.1;
  std::vector<double> seconds{1.5, 2.5};
  const NamedTensors state =
      SavedNumbers().add("loss", loss).add("seconds", seconds).add_setting("--seed", 3).state_dict();

  double restored = 0;
  std::vector<double> list{7, 8, 9};
  SavedNumbers numbers;
  numbers.add("loss", restored).add("seconds", list).add_setting("--seed", 3);
  numbers.load_state_dict(state);
  BOOST_TEST(restored == 0.1);
  BOOST_TEST(list == seconds, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(numbers_of_another_setting_or_another_training_are_refused_and_set_nothing) {
  double loss = 0.1;
  const NamedTensors state = SavedNumbers().add("loss", loss).add_setting("--seed", 3).state_dict();
  SavedNumbers other;
  other.add("loss", loss).add_setting("--seed", 4);
  loss = 0.2;
  BOOST_TEST(complaint_of([&] { other.load_state_dict(state); }) == "[--resume] --seed is 4, the checkpoint is of 3");
  double gain = 0;
  SavedNumbers wrong;
  wrong.add("gain", gain).add_setting("--seed", 3);
  BOOST_CHECK_EXCEPTION(wrong.load_state_dict(state), ValueError, [](const ValueError& error) {
    return std::string(error.what()) == "[load_state_dict] missing: gain; unexpected: loss";
  });
  BOOST_TEST(loss == 0.2);
}

BOOST_AUTO_TEST_SUITE_END()

// Each sample trains unbroken, then again until all its processes are killed, then on from its checkpoint.
BOOST_FIXTURE_TEST_SUITE(killed_trainings_go_on_bit_for_bit, Killed)

BOOST_AUTO_TEST_CASE(language_model) {
  check({"language_model", "trainer", "language_model --epochs 2 --check", "epoch 1/2"});
}

// With several trainers each run ends with other bits.
BOOST_AUTO_TEST_CASE(recommender_of_one_trainer) {
  check({"recommender", "master", "recommender --epochs 2 --check", "epoch 1:", {"role.trainer.count=1"}});
}

BOOST_AUTO_TEST_CASE(a3c_of_one_player) {
  check({"a3c", "learner", "a3c --lessons 900 --check", "saved after lesson 400"});
}

BOOST_AUTO_TEST_CASE(parameter_server_of_one_trainer) {
  check({"parameter_server",
         "trainer",
         "parameter_server_trainer --examples 320 --epochs 2",
         "training 14/20",
         {"role.trainer.count=1", "cluster.result=trainer"}});
}

BOOST_AUTO_TEST_CASE(pipeline) {
  check({"pipeline", "master", "pipeline --batch 4 --batches 2 --image 32 --splits 1,2",
         "saved after 1 batches of row 2"});
}

BOOST_AUTO_TEST_CASE(federated) {
  check({"federated", "server", "federated --width 64 --examples 320 --rounds 3", "saved after round 2 of row 2"});
}

BOOST_AUTO_TEST_CASE(reinforcement) { check({"reinforcement", "agent", "reinforcement --episodes 40", "Episode 20"}); }

// At this rate the weights are still on their way at the end: they do not forget where they were resumed.
BOOST_AUTO_TEST_CASE(batched_parameter_server) {
  check({"batched_parameter_server", "ps", "batched_parameter_server --updates 600 --rate 0.001 --check",
         "saved after update 40:"});
}

BOOST_AUTO_TEST_CASE(hybrid) { check({"hybrid", "master", "hybrid --epochs 20 --check", "done for epoch 4,"}); }

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::testing
