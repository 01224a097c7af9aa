// Feeds one decoder with what libFuzzer invents. Built by the preset `fuzz` only; `./dev fuzz` calls it.
//
//   fuzz list                        the targets: name, longest input, sources, one per line
//   fuzz unpack TARGET FOLDER        a target's seeds and corpus as files
//   fuzz pack FOLDER                 the files as lines of a corpus
//   fuzz run TARGET [OPTION|FOLDER]...   libFuzzer, with its options
#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/fuzz/corpus.h"
#include "tests/fuzz/fuzz_target.h"

extern "C" int LLVMFuzzerRunDriver(int* argc, char*** argv, int (*run)(const std::uint8_t* data, std::size_t size));

namespace fuzz = troupe::fuzz;
namespace fs = std::filesystem;

namespace {

std::optional<fuzz::Target> target;  // of LLVMFuzzerRunDriver, whose function has no other argument

int run_once(const std::uint8_t* data, std::size_t size) {
  fuzz::run(*target, std::as_bytes(std::span(data, size)));
  return 0;
}

void list() {
  for (const fuzz::Target& each : fuzz::all_targets())
    fmt::print("{} {} {}\n", each.name, each.bytes_max, each.sources);
}

void unpack(std::string_view name, const fs::path& folder) {
  std::vector<fuzz::Input> inputs = fuzz::find_target(name).seeds();
  for (fuzz::Input& kept : fuzz::read_corpus(TROUPE_FUZZ_CORPUS, name)) inputs.push_back(std::move(kept));
  fs::create_directories(folder);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    std::ofstream out(folder / fmt::format("kept{:05}", i), std::ios::binary);
    out.write(reinterpret_cast<const char*>(inputs[i].data()), std::ssize(inputs[i]));
    if (!out.flush()) throw std::runtime_error(fmt::format("cannot write to {}", folder.string()));
  }
}

void pack(const fs::path& folder) {
  std::vector<fuzz::Input> inputs;
  for (const auto& file : fs::directory_iterator(folder)) {
    std::ifstream in(file.path(), std::ios::binary);
    inputs.push_back(fuzz::input_of(std::string{std::istreambuf_iterator<char>(in), {}}));
  }
  fmt::print("{}", fuzz::corpus_text(std::move(inputs)));
}

/// What libFuzzer starts anew to merge a corpus has the options, but no other words of the command line.
constexpr const char* kTargetVariable = "TROUPE_FUZZ_TARGET";

int run_target(std::string_view name, int argc, char** argv) {
  target = fuzz::find_target(name);
  return LLVMFuzzerRunDriver(&argc, &argv, run_once);
}

int main_of(int argc, char** argv) {
  if (const char* name = std::getenv(kTargetVariable)) return run_target(name, argc, argv);
  const std::vector<std::string_view> words(argv + 1, argv + argc);
  if (words.size() == 1 && words[0] == "list") return list(), 0;
  if (words.size() == 3 && words[0] == "unpack") return unpack(words[1], words[2]), 0;
  if (words.size() == 2 && words[0] == "pack") return pack(words[1]), 0;
  if (words.size() < 2 || words[0] != "run") throw std::invalid_argument("not a command; see the head of fuzz.cc");
  ::setenv(kTargetVariable, argv[2], 1);
  argv[2] = argv[0];
  return run_target(words[1], argc - 2, argv + 2);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return main_of(argc, argv);
  } catch (const fuzz::Broken&) {
    throw;  // of an input: libFuzzer writes it to a file
  } catch (const std::exception& error) {
    fmt::print(stderr, "fuzz: {}\n", error.what());
    return 2;
  }
}
