#include "samples/language_model/text.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(text)

namespace {

using Tokens = std::vector<std::string>;

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

std::string complaint(const std::string& file) {
  try {
    (void)samples::read_corpus(file);
    return "nothing";
  } catch (const samples::TextError& error) {
    return error.what();
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(words_are_lower_case_and_each_punctuation_mark_is_a_token) {
  BOOST_TEST(samples::tokenize("The GNU  GPL-3,\n(c) 2007.") ==
                 (Tokens{"the", "gnu", "gpl", "-", "3", ",", "(", "c", ")", "2007", "."}),
             boost::test_tools::per_element());
  BOOST_TEST(samples::tokenize("caf\xc3\xa9!?") == (Tokens{"caf\xc3\xa9", "!", "?"}), boost::test_tools::per_element());
  BOOST_TEST(samples::tokenize(" \t\r\n\v\f").empty());
}

BOOST_AUTO_TEST_CASE(the_first_nine_tenths_train_and_words_seen_once_in_them_are_unknown) {
  // 100 tokens. "rare" is the 90th, so it occurs once in the training part; "late" occurs only in the held-out part.
  const samples::Corpus corpus = samples::make_corpus(repeated("a b ", 44) + "a rare " + repeated("b late ", 5));
  BOOST_TEST(corpus.vocabulary == (Tokens{"<unk>", "a", "b"}), boost::test_tools::per_element());
  BOOST_TEST(corpus.train.size() == 90U);
  BOOST_TEST(corpus.train.at(88) == 1);
  BOOST_TEST(corpus.train.at(89) == samples::Corpus::kUnknown);
  BOOST_TEST(corpus.held_out == (std::vector<std::int64_t>{2, 0, 2, 0, 2, 0, 2, 0, 2, 0}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(word_frequencies_count_one_more_of_everything) {
  const samples::Corpus corpus{.vocabulary = {"<unk>", "a", "b"}, .train = {1, 1, 1, 2, 2}, .held_out = {1, 2, 0}};
  // Of 5 + 3: a 4/8, b 3/8, <unk> 1/8; (1/2 * 3/8 * 1/8) ^ (-1/3)
  BOOST_TEST(samples::word_frequency_perplexity(corpus) == std::cbrt(128.0 / 3), boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(a_short_or_unreadable_file_is_named) {
  BOOST_TEST(complaint("/gone.txt") == "/gone.txt: cannot read: No such file or directory");
  BOOST_TEST(complaint("/") == "/: cannot read: is a directory");
  BOOST_TEST(complaint("/dev/null") == "/dev/null: 0 tokens, at least 100 are needed");
  BOOST_CHECK_EXCEPTION((void)samples::make_corpus("a b c d e f g h"), samples::TextError, [](const auto& error) {
    return std::string(error.what()) == "8 tokens, at least 100 are needed";
  });
}

BOOST_AUTO_TEST_CASE(the_licence_on_every_debian_machine_is_the_text_that_was_measured,
                     *boost::unit_test::precondition([](auto) {
                       return std::filesystem::exists(samples::kDefaultText);
                     })) {
  const samples::Corpus corpus = samples::read_corpus(samples::kDefaultText);
  BOOST_TEST(corpus.train.size() + corpus.held_out.size() == 6538U);
  BOOST_TEST(corpus.vocabulary.size() == 489U);
  // An independent count of the same tokens gave 91.5217618.
  BOOST_TEST(samples::word_frequency_perplexity(corpus) == 91.5217618, boost::test_tools::tolerance(1e-8));
}

BOOST_AUTO_TEST_SUITE_END()
