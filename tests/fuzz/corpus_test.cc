// What a fuzzer has found is decoded again, with every other test.
#include "tests/fuzz/corpus.h"

#include <boost/test/unit_test.hpp>

#include <exception>
#include <set>
#include <stdexcept>
#include <string>

#include "tests/fuzz/fuzz_target.h"

namespace troupe {

BOOST_AUTO_TEST_SUITE(fuzz_corpus)

namespace {

using fuzz::Bytes;
using fuzz::Input;
using fuzz::Target;

const std::filesystem::path kFolder = TROUPE_SOURCE_DIR "/tests/fuzz/corpus";

/// Returns what is wrong; empty: nothing.
std::string complaint_of(const Target& target, Bytes input) {
  try {
    fuzz::run(target, input);
    return {};
  } catch (const std::exception& error) {
    return error.what();
  }
}

void expect_decoded(const Target& target, Bytes input) {
  if (const std::string complaint = complaint_of(target, input); !complaint.empty()) {
    BOOST_ERROR(target.name << ": " << complaint << ": "
                            << fuzz::corpus_text({Input(input.begin(), input.end())}).substr(0, 200));
  }
}

std::vector<Input> no_seeds() { return {}; }

}  // namespace

BOOST_AUTO_TEST_CASE(every_input_that_was_found_is_decoded_or_refused) {
  for (const Target& target : fuzz::all_targets()) {
    const std::vector<Input> inputs = fuzz::read_corpus(kFolder, target.name);
    BOOST_TEST(!inputs.empty(), target.name << " has no corpus");
    for (const Input& input : inputs) expect_decoded(target, input);
  }
}

BOOST_AUTO_TEST_CASE(what_is_valid_is_refused_or_decoded_when_it_is_cut_and_when_bytes_are_changed) {
  for (const Target& target : fuzz::all_targets()) {
    const std::vector<Input> seeds = target.seeds();
    BOOST_TEST(!seeds.empty(), target.name << " has no seeds");
    for (const Input& seed : seeds) {
      const std::size_t step = 1 + seed.size() / 64;  // of long ones not every byte: this is a unit test
      for (std::size_t at = 0; at < seed.size(); at += step) {
        expect_decoded(target, Bytes(seed).first(at));
        Input changed = seed;
        changed[at] ^= std::byte{0xff};
        expect_decoded(target, changed);
      }
      expect_decoded(target, seed);
    }
  }
}

BOOST_AUTO_TEST_CASE(every_corpus_has_a_target) {
  std::set<std::string> names;
  for (const Target& target : fuzz::all_targets()) names.insert(std::string(target.name));
  for (const auto& file : std::filesystem::directory_iterator(kFolder)) {
    BOOST_TEST(names.contains(file.path().stem().string()), "no decoder for " << file.path().filename().string());
  }
}

BOOST_AUTO_TEST_CASE(a_decoder_that_takes_too_much_memory_or_throws_is_noticed) {
  const Target greedy{"greedy", "", [](Bytes) { (void)std::string(100'000, 'x'); }, no_seeds};
  BOOST_TEST(complaint_of(greedy, Input(10)).ends_with("allocated for 10, at most 65696"));
  BOOST_TEST(complaint_of(greedy, Input(4000)).empty());
  const Target throws{"throws", "", [](Bytes) { throw std::out_of_range("beyond"); }, no_seeds};
  BOOST_TEST(complaint_of(throws, {}) == "beyond");
  const Target breaks{"breaks", "", [](Bytes) { fuzz::expect(false, "a rule"); }, no_seeds};
  BOOST_TEST(complaint_of(breaks, {}) == "a rule");
}

BOOST_AUTO_TEST_CASE(a_corpus_is_written_once_and_read_as_it_was) {
  const std::vector<Input> inputs{fuzz::input_of("b"), fuzz::input_of("a\xff"), fuzz::input_of("b"), {}};
  const std::string text = fuzz::corpus_text(inputs);
  BOOST_TEST(text == "\n62\n61ff\n");
  BOOST_TEST((fuzz::parse_corpus(text) == std::vector<Input>{inputs[3], inputs[0], inputs[1]}));
  BOOST_CHECK_EXCEPTION((void)fuzz::parse_corpus("61\n6\n"), std::invalid_argument, [](const auto& error) {
    return error.what() == std::string("line 2 of the corpus is not in hexadecimal digits");
  });
}

BOOST_AUTO_TEST_CASE(an_input_tells_its_frames) {
  const Frames frames{make_frame(fuzz::input_of("one")), make_frame({}), make_frame(fuzz::input_of("three"))};
  const Frames again = fuzz::frames_of(fuzz::input_of(frames));
  BOOST_REQUIRE_EQUAL(again.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) BOOST_TEST(fuzz::text_of(again[i].bytes) == fuzz::text_of(frames[i].bytes));
  BOOST_TEST(fuzz::frames_of({}).empty());
  BOOST_TEST(fuzz::frames_of(fuzz::input_of("\x7f")).empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
