// Every operation of tensor/ops.h and tensor/ops/ on a GPU, beside the CPU. Dtypes, layouts and sizes are the other
// tests' here.
#include "tensor/ops.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "tests/tensor/cuda/every_call.h"
#include "tests/tensor/cuda/on_gpu.h"

namespace troupe {
BOOST_AUTO_TEST_SUITE(cuda_ops)

namespace {

using testing::Call;
using testing::Calls;
using testing::every_call;
using testing::kGpu;
using testing::NeedsGpus;
using testing::Results;

/// Headers of tensor/ops/ that declare what operations share, and pieces of gradients; users call none of it.
constexpr std::array<std::string_view, 11> kShared{
    "checks.h",      "class_loss.h", "convolution.h", "deferred_ops.h", "elementwise.h", "embedding_bag.h",
    "global_norm.h", "pair_loss.h",  "promotion.h",   "update.h",       "windows.h"};

/// A function of their headers that makes the options of operations.
constexpr std::string_view kMakesOptions = "square_window";

/// The headers that declare operations.
std::vector<std::filesystem::path> operation_headers() {
  const auto folder = std::filesystem::path(TROUPE_SOURCE_DIR) / "tensor";
  std::vector<std::filesystem::path> headers{folder / "ops.h"};
  for (const auto& file : std::filesystem::directory_iterator(folder / "ops")) {
    if (file.path().extension() == ".h" && std::ranges::count(kShared, file.path().filename().string()) == 0) {
      headers.push_back(file.path());
    }
  }
  return headers;
}

/// Names of the functions that they declare.
std::vector<std::string> declared() {
  const std::regex function(R"(^(?:\[\[nodiscard\]\] )?(?:inline )?[A-Za-z:<>]+ (\w+)\(.*)");
  std::vector<std::string> names;
  for (const std::filesystem::path& header : operation_headers()) {
    std::ifstream text(header);
    std::smatch found;
    for (std::string line; std::getline(text, line);) {
      if (std::regex_match(line, found, function) && found[1].str() != kMakesOptions) names.push_back(found[1]);
    }
  }
  return names;
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_operation_is_among_the_calls) {
  const Calls calls = every_call();
  const std::vector<std::string> names = declared();
  BOOST_TEST(names.size() > 200U);
  for (const std::string& name : names) {
    BOOST_CHECK_MESSAGE(std::ranges::find(calls, name, &Call::name) != calls.end(), name << " is not called");
  }
}

BOOST_AUTO_TEST_CASE(every_call_fits_its_operation) {
  for (const Call& call : every_call()) {
    BOOST_TEST_CONTEXT(call.name) {
      for (const Tensor& result : call.run({Device::cpu()})) BOOST_TEST(result.defined());
    }
  }
}

BOOST_AUTO_TEST_CASE(every_operation_gives_on_a_gpu_what_it_gives_on_the_cpu,
                     *boost::unit_test::precondition(NeedsGpus{1})) {
  for (const Call& call : every_call()) {
    BOOST_TEST_CONTEXT(call.name) {
      try {
        const Results expected = call.run({Device::cpu()});
        const Results got = call.run({kGpu});
        BOOST_REQUIRE_EQUAL(got.size(), expected.size());
        for (std::size_t i = 0; i < got.size(); ++i) {
          BOOST_CHECK(got[i].device() == kGpu);
          // Sums of up to 30 terms of size 1, of two mathematics libraries.
          expect_close(got[i].to(Device::cpu()), expected[i], 2e-5, 2e-5);
        }
      } catch (const TensorError& error) {
        BOOST_ERROR(call.name << ": " << error.what());
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
