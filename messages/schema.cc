#include "messages/schema.h"

#include <fmt/format.h>

#include <algorithm>

namespace troupe {

SchemaArchive::SchemaArchive() : OutputArchive(this) {}

SchemaArchive::~SchemaArchive() = default;

void SchemaArchive::token(std::string_view word) {
  if (!text_.empty() && text_.back() != '<' && text_.back() != '{') text_ += ',';
  text_ += word;
}

void SchemaArchive::open(char bracket) {
  if (bracket == '{') token("");
  text_ += bracket;
}

void SchemaArchive::close(char bracket) { text_ += bracket; }

bool SchemaArchive::enclosing(const void* mark) {
  const auto at = std::find(inside_.begin(), inside_.end(), mark);
  if (at == inside_.end()) return false;
  token(fmt::format("^{}", inside_.end() - at));
  return true;
}

Fingerprint fingerprint_of_schema(std::string_view schema) {
  // FNV-1a, 64 bits.
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : schema) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3U;
  }
  return {hash};
}

}  // namespace troupe
