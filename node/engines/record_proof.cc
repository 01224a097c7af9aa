#include "node/engines/record_proof.h"

#include <fmt/format.h>

#include <utility>

namespace troupe::detail {
namespace {

constexpr std::string_view kWord = "proof ";
constexpr std::string_view kWithout = "`--munge off` lets all tasks do without";

}  // namespace

std::string ProvedFiles::content_of(std::string_view text) {
  if (!choice_.proof) return std::string(text);
  return fmt::format("{}{}\n{}", kWord, choice_.proof->of(text), text);
}

std::string ProvedFiles::text_in(const std::string& name, std::string content) {
  const bool has_proof = content.starts_with(kWord);
  if (!has_proof && !choice_.proof) return content;
  if (!has_proof) {
    throw std::invalid_argument(fmt::format("it has no MUNGE credential, and this task has MUNGE: {}", kWithout));
  }
  if (!choice_.proof) {
    throw std::invalid_argument(
        fmt::format("it has a MUNGE credential, and this task has no MUNGE, since {}: {}", choice_.why_none, kWithout));
  }
  const std::size_t end = content.find('\n');
  if (end == std::string::npos || end > kBytesMax) throw std::invalid_argument("its MUNGE credential has no end");
  std::string text = content.substr(end + 1);
  if (const auto known = proved_.find(name); known != proved_.end() && known->second == content) return text;
  choice_.proof->check(content.substr(kWord.size(), end - kWord.size()), text);
  proved_.insert_or_assign(name, std::move(content));
  return text;
}

}  // namespace troupe::detail
