// What tasks write for each other, and what is refused of it.
#include "node/engines/exchange_records.h"

#include <boost/test/unit_test.hpp>

#include <stdexcept>
#include <string>

namespace troupe::detail {
namespace {

const std::string kKeyDigits = "01" + std::string(62, '0');
const std::string kSealDigits = "02" + std::string(142, '0');

PublicKey written_key() { return {{std::byte{1}}}; }

TaskRecord task_record() {
  return {.job = "slurm-test-12.3",
          .rank = 2,
          .name = "trainer1",
          .host = "node17",
          .key = written_key(),
          .answers = PublicKey{{std::byte{0xAB}}}};
}

RunRecord run_record() {
  RunRecord run{.job = "slurm-test-12.3", .cluster_id = "0123456789abcdef", .seed = "tcp://10.0.0.1:9", .members = {}};
  run.members.push_back({"ps", written_key(), {{std::byte{2}}}});
  run.members.push_back({"trainer0", {{std::byte{3}}}, {{std::byte{4}}}});
  return run;
}

std::string refusal_of_task(const std::string& text) {
  try {
    (void)parse_task(text);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return {};
}

std::string refusal_of_run(const std::string& text) {
  try {
    (void)parse_run(text, 2);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return {};
}

std::string replaced(std::string text, const std::string& word, const std::string& by) {
  return text.replace(text.find(word), word.size(), by);
}

BOOST_AUTO_TEST_SUITE(exchange_records)

BOOST_AUTO_TEST_CASE(a_record_of_a_task_is_lines_of_words) {
  const std::string text = "troupe-task 1\njob slurm-test-12.3\nrank 2\nname trainer1\nhost node17\nkey " + kKeyDigits +
                           "\nanswers ab" + std::string(62, '0') + "\n";
  BOOST_TEST(text_of(task_record()) == text);
  BOOST_TEST((parse_task(text) == task_record()));
  TaskRecord first = task_record();
  first.answers.reset();
  BOOST_TEST((parse_task(text_of(first)) == first));
}

BOOST_AUTO_TEST_CASE(a_record_of_a_run_is_lines_of_words) {
  const std::string text = text_of(run_record());
  BOOST_TEST(
      text.starts_with("troupe-run 1\njob slurm-test-12.3\ncluster 0123456789abcdef\nseed tcp://10.0.0.1:9\n"
                       "member ps " +
                       kKeyDigits + " " + kSealDigits + "\nmember trainer0 03"));
  BOOST_TEST((parse_run(text, 2) == run_record()));
  BOOST_TEST(text.size() <= RunRecord::bytes_max(2));
}

BOOST_AUTO_TEST_CASE(the_longest_records_have_the_sizes_that_readers_allow) {
  RunRecord run{
      .job = std::string(255, 'j'), .cluster_id = "0123456789abcdef", .seed = std::string(100, 's'), .members = {}};
  for (int i = 0; i < 100; ++i) run.members.push_back({std::string(64, 'n'), {}, {}});
  BOOST_TEST(text_of(run).size() <= RunRecord::bytes_max(100));
  TaskRecord task = task_record();
  task.job = std::string(255, 'j');
  task.name = std::string(64, 'n');
  task.host = std::string(255, 'h');
  BOOST_TEST(text_of(task).size() <= TaskRecord::kBytesMax);
}

BOOST_AUTO_TEST_CASE(a_record_that_ends_early_is_refused_wherever_it_ends) {
  const std::string task = text_of(task_record());
  const std::size_t without_answer = task.find("answers");
  for (std::size_t size = 0; size < task.size(); ++size) {
    if (size == without_answer) continue;  // as rank 0 writes it
    BOOST_TEST(!refusal_of_task(task.substr(0, size)).empty(), size);
  }
  const std::string run = text_of(run_record());
  for (std::size_t size = 0; size < run.size(); ++size) {
    const std::string cut = run.substr(0, size);
    if (cut.ends_with('\n') && cut.find("seed") != std::string::npos) {
      BOOST_TEST(parse_run(cut, 2).members.size() < 2U);  // whoever reads it counts
    } else {
      BOOST_TEST(!refusal_of_run(cut).empty(), size);
    }
  }
}

BOOST_AUTO_TEST_CASE(what_is_wrong_in_a_record_is_named) {
  const std::string task = text_of(task_record());
  BOOST_TEST(refusal_of_task("") == "line 1: \"troupe-task\" is not there");
  BOOST_TEST(refusal_of_task(replaced(task, "troupe-task 1", "troupe-task 2")) ==
             "line 1: \"troupe-task\" is of another version of troupe");
  BOOST_TEST(refusal_of_task(replaced(task, "rank 2", "rank -2")) == "line 3: \"rank\" is not a number");
  BOOST_TEST(refusal_of_task(replaced(task, "rank 2", "rank 99999999999999999999")) ==
             "line 3: \"rank\" is not a number");
  BOOST_TEST(refusal_of_task(replaced(task, "trainer1", "a b")) == "line 4: \"name\" is not a name");
  BOOST_TEST(refusal_of_task(replaced(task, "trainer1", std::string(65, 'a'))) == "line 4: \"name\" is not a name");
  BOOST_TEST(refusal_of_task(replaced(task, "node17", "\x1B[2J")) == "line 5: \"host\" is not a text");
  BOOST_TEST(refusal_of_task(replaced(task, "node17", "")) == "line 5: \"host\" is not a text");
  BOOST_TEST(refusal_of_task(replaced(task, "key 01", "key 0g")) == "line 6: \"key\" is not 64 hexadecimal digits");
  BOOST_TEST(refusal_of_task(replaced(task, "key 01", "key 1")) == "line 6: \"key\" is not 64 hexadecimal digits");
  BOOST_TEST(refusal_of_task(task + "more 1\n") == "line 8: something follows the last line");
  const std::string run = text_of(run_record());
  BOOST_TEST(refusal_of_run(run + "member x " + kKeyDigits + " " + kSealDigits + "\n") == "there are too many members");
  BOOST_TEST(refusal_of_run(replaced(run, kSealDigits, kKeyDigits)) ==
             "line 5: \"member\" is not 144 hexadecimal digits");
  BOOST_TEST(refusal_of_run(replaced(run, kSealDigits, kSealDigits + " x")) ==
             "line 5: \"member\" has more words than three");
  BOOST_TEST(refusal_of_run(replaced(run, "0123456789abcdef", "../x")) == "line 3: \"cluster\" is not a name");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::detail
