#include "samples/language_model/text.h"

#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <span>
#include <unordered_map>

namespace samples {
namespace {

constexpr std::size_t kTokensMin = 100;

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// Beyond ASCII everything counts as a letter, so that words with accents stay whole.
bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || static_cast<unsigned char>(c) >= 0x80;
}

}  // namespace

std::vector<std::string> tokenize(std::string_view text) {
  std::vector<std::string> tokens;
  bool in_word = false;
  for (const char raw : text) {
    const char c = lower(raw);
    if (is_word(c) && in_word) {
      tokens.back() += c;
    } else if (!is_space(c)) {
      tokens.emplace_back(1, c);
    }
    in_word = is_word(c);
  }
  return tokens;
}

Corpus make_corpus(std::string_view text) {
  const std::vector<std::string> tokens = tokenize(text);
  if (tokens.size() < kTokensMin) {
    throw TextError(std::to_string(tokens.size()) + " tokens, at least " + std::to_string(kTokensMin) + " are needed");
  }
  const std::span all(tokens);
  const std::span train = all.first(all.size() * 9 / 10);

  std::unordered_map<std::string_view, std::int64_t> counts;
  for (const std::string& token : train) ++counts[token];

  Corpus corpus{.vocabulary = {"<unk>"}, .train = {}, .held_out = {}};
  std::unordered_map<std::string_view, std::int64_t> numbers;
  for (const std::string& token : train) {
    if (counts[token] < 2 || numbers.contains(token)) continue;
    numbers.emplace(token, static_cast<std::int64_t>(corpus.vocabulary.size()));
    corpus.vocabulary.push_back(token);
  }
  const auto number_of = [&](const std::string& token) {
    const auto found = numbers.find(token);
    return found == numbers.end() ? Corpus::kUnknown : found->second;
  };
  for (const std::string& token : train) corpus.train.push_back(number_of(token));
  for (const std::string& token : all.subspan(train.size())) corpus.held_out.push_back(number_of(token));
  return corpus;
}

Corpus read_corpus(const std::filesystem::path& file) {
  if (std::filesystem::is_directory(file)) throw TextError(file.string() + ": cannot read: is a directory");
  std::ifstream in(file, std::ios::binary);
  if (!in) throw TextError(file.string() + ": cannot read: " + std::strerror(errno));
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  try {
    return make_corpus(text);
  } catch (const TextError& error) {
    throw TextError(file.string() + ": " + error.what());
  }
}

double word_frequency_perplexity(const Corpus& corpus) {
  std::vector<double> counts(corpus.vocabulary.size(), 1.0);
  for (const std::int64_t token : corpus.train) counts[static_cast<std::size_t>(token)] += 1;
  const double total = static_cast<double>(corpus.train.size() + corpus.vocabulary.size());
  double log_sum = 0;
  for (const std::int64_t token : corpus.held_out) log_sum += std::log(counts[static_cast<std::size_t>(token)] / total);
  return std::exp(-log_sum / static_cast<double>(corpus.held_out.size()));
}

}  // namespace samples
