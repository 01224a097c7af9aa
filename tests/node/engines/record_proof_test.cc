// Files whose writers prove who they are. The proof of these tests is a word and the text's length.
#include "node/engines/record_proof.h"

#include <boost/test/unit_test.hpp>

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "tests/node/engines/word_proof.h"
#include "tests/support/expect_throw.h"

namespace troupe::detail {
namespace {

using troupe::testing::expect_throw;
using troupe::testing::WordProof;

const std::string kProvedText = "troupe-task 1\njob j\n";

struct TaskFiles {
  std::shared_ptr<WordProof> proof = std::make_shared<WordProof>("tom");
  ProvedFiles with{{proof, ""}};
  ProvedFiles without{{nullptr, "there is no munged"}};
};

BOOST_FIXTURE_TEST_SUITE(record_proof, TaskFiles)

BOOST_AUTO_TEST_CASE(a_text_comes_back_with_and_without_proofs) {
  BOOST_TEST(without.content_of(kProvedText) == kProvedText);
  BOOST_TEST(without.text_in("0.key", kProvedText) == kProvedText);
  BOOST_TEST(with.content_of(kProvedText) == "proof tom/20\n" + kProvedText);
  BOOST_TEST(with.text_in("0.key", "proof tom/20\n" + kProvedText) == kProvedText);
}

BOOST_AUTO_TEST_CASE(a_file_of_another_writer_or_of_another_text_is_refused) {
  expect_throw<std::invalid_argument>([&] { return with.text_in("0.key", "proof eve/20\n" + kProvedText); },
                                      "eve/20 is no proof");
  expect_throw<std::invalid_argument>([&] { return with.text_in("0.key", "proof tom/20\n" + kProvedText + "more\n"); },
                                      "tom/20 is no proof");
  for (const std::string& broken : {std::string("proof tom/0"), "proof " + std::string(4096, 'x') + "\n"}) {
    expect_throw<std::invalid_argument>([&] { return with.text_in("0.key", broken); },
                                        "its MUNGE credential has no end");
  }
}

BOOST_AUTO_TEST_CASE(tasks_have_proofs_or_none_has) {
  expect_throw<std::invalid_argument>(
      [&] { return with.text_in("0.key", kProvedText); },
      "it has no MUNGE credential, and this task has MUNGE: `--munge off` lets all tasks do without");
  expect_throw<std::invalid_argument>(
      [&] { return without.text_in("0.key", with.content_of(kProvedText)); },
      "it has a MUNGE credential, and this task has no MUNGE, since there is no munged: "
      "`--munge off` lets all tasks do without");
}

BOOST_AUTO_TEST_CASE(the_same_content_of_a_file_is_checked_once) {
  const std::string content = with.content_of(kProvedText);
  for (int i = 0; i < 3; ++i) BOOST_TEST(with.text_in("0.key", content) == kProvedText);
  BOOST_TEST(proof->checks == 1);
  expect_throw<std::invalid_argument>([&] { return with.text_in("0.key", "proof tom/20\n" + kProvedText + "x"); },
                                      "tom/20 is no proof");
  BOOST_TEST(with.text_in("0.key", with.content_of("another")) == "another");
  BOOST_TEST(with.text_in("1.key", content) == kProvedText);  // another file
  BOOST_TEST(proof->checks == 4);
}

BOOST_AUTO_TEST_CASE(a_content_that_could_not_be_checked_is_checked_again) {
  const std::string content = with.content_of(kProvedText);
  proof->is_away = true;
  expect_throw<ProofError>([&] { return with.text_in("0.key", content); }, "away");
  proof->is_away = false;
  BOOST_TEST(with.text_in("0.key", content) == kProvedText);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::detail
