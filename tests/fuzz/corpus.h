// Inputs kept in the tree: corpus/TARGET.hex has one per line, in hexadecimal digits. They are what a fuzzer has found
// worth keeping: together with a target's seeds they reach the lines that it could reach, and each input that once
// broke a decoder is among them.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/fuzz_target.h"

namespace troupe::fuzz {

/// Returns the inputs in the text. Throws std::invalid_argument that names the line that is none.
[[nodiscard]] std::vector<Input> parse_corpus(std::string_view text);

/// Returns the text of these inputs: shortest first, each once.
[[nodiscard]] std::string corpus_text(std::vector<Input> inputs);

/// Returns a target's inputs in the folder; none if it has no file there.
[[nodiscard]] std::vector<Input> read_corpus(const std::filesystem::path& folder, std::string_view target);

}  // namespace troupe::fuzz
