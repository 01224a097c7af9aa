#include "tensor/cpu/vectorized.h"

#include <boost/test/unit_test.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace troupe::cpu {
namespace {

#if defined(__x86_64__)
BOOST_AUTO_TEST_CASE(a_loop_gives_the_same_bits_with_all_vector_instructions) {
  const auto computed_by = [](const auto& run) {
    std::vector<float> out(1003);
    const auto loop = [ to = out.data(), size = out.size() ]() __attribute__((always_inline)) {
      for (std::size_t i = 0; i < size; ++i) {
        const float x = 0.1F * static_cast<float>(i);
        to[i] = x * x + 0.3F / (x + 1.0F);  // differs if product and sum are fused
      }
    };
    run(loop);
    return out;
  };
  const std::vector<float> expected = computed_by([](const auto& loop) { loop(); });
  if (instruction_set() >= InstructionSet::avx2) {
    BOOST_TEST(computed_by([](const auto& loop) { with_avx2(loop); }) == expected, boost::test_tools::per_element());
  }
  if (instruction_set() >= InstructionSet::avx512) {
    BOOST_TEST(computed_by([](const auto& loop) { with_avx512(loop); }) == expected, boost::test_tools::per_element());
  }
}
#endif

BOOST_AUTO_TEST_CASE(the_instruction_set_is_not_above_what_the_environment_allows) {
  const char* const limit = std::getenv("TROUPE_MAX_CPU_ISA");
  const std::string text = limit == nullptr ? "" : limit;
  const InstructionSet highest = text == "baseline" ? InstructionSet::baseline
                                 : text == "avx2"   ? InstructionSet::avx2
                                                    : InstructionSet::avx512;
  BOOST_TEST((instruction_set() <= highest));
}

/// Returns what this program writes to standard error with this limit while it asks for the instruction set repeatedly.
std::string warning_with(const std::string& limit) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string command = "TROUPE_MAX_CPU_ISA='" + limit + "' '" + program +
                              "' --run_test=each_index_is_visited_once 2>&1 >/dev/null | grep ^troupe";
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> output(::popen(command.c_str(), "r"), &::pclose);
  BOOST_REQUIRE(output);
  std::string text;
  for (int c = std::fgetc(output.get()); c != EOF; c = std::fgetc(output.get())) text += static_cast<char>(c);
  return text;
}

BOOST_AUTO_TEST_CASE(a_word_that_is_no_instruction_set_is_warned_of_once) {
  BOOST_TEST(warning_with("AVX2") ==
             "troupe: TROUPE_MAX_CPU_ISA=\"AVX2\" is none of baseline, avx2, avx512: it limits nothing\n");
  for (const char* limit : {"", "baseline", "avx2", "avx512"}) BOOST_TEST(warning_with(limit).empty());
}

BOOST_AUTO_TEST_CASE(each_index_is_visited_once) {
  for (const std::int64_t count : {0, 1, 15, 16, 17, 100}) {
    std::vector<int> visits(static_cast<std::size_t>(count) + 1);
    vectorized_for(count, [to = visits.data()](std::int64_t i) { ++to[i]; });
    std::vector<int> expected(visits.size(), 1);
    expected.back() = 0;
    BOOST_TEST(visits == expected, boost::test_tools::per_element());
  }
}

}  // namespace
}  // namespace troupe::cpu
