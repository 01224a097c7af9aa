// A text as numbers: what a language model learns from and is measured with.
#pragma once

#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace samples {

/// Every Debian machine has it.
inline constexpr const char* kDefaultText = "/usr/share/common-licenses/GPL-3";

/// A text cannot be used; the message names the file and says why.
class TextError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A text split in two, each token a number into `vocabulary`.
struct Corpus {
  static constexpr std::int64_t kUnknown = 0;  ///< "<unk>"

  std::vector<std::string> vocabulary;
  std::vector<std::int64_t> train;     ///< the first 90 %
  std::vector<std::int64_t> held_out;  ///< the rest
};

/// Returns lower-case words (letters, digits and whatever is not ASCII) and punctuation marks, each a token.
[[nodiscard]] std::vector<std::string> tokenize(std::string_view text);

/// Numbers the tokens of `text`. A word that its first 90 % have fewer than twice is "<unk>", the others are numbered
/// in the order in which they first appear. Throws TextError `8 tokens, at least 100 are needed`.
[[nodiscard]] Corpus make_corpus(std::string_view text);

/// Reads `file` whole. Throws TextError `gone.txt: cannot read: No such file or directory` and as make_corpus.
[[nodiscard]] Corpus read_corpus(const std::filesystem::path& file);

/// Returns the perplexity of the held-out tokens if each is guessed from how often it is in `train` (plus one),
/// whatever stands before it: exp(-mean(log((count + 1) / (tokens + vocabulary)))). What a model has to beat.
[[nodiscard]] double word_frequency_perplexity(const Corpus& corpus);

}  // namespace samples
