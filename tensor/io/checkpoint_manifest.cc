#define XXH_INLINE_ALL
#include "tensor/io/checkpoint_manifest.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "tensor/error.h"
#include "tensor/io/file_error.h"

namespace troupe::detail {
namespace {

constexpr std::string_view kFormat = "troupe checkpoint";
constexpr std::int64_t kVersion = 1;
constexpr std::string_view kBeforeHash = "\"xxh64\":\"";
constexpr std::string_view kAfterHash = "\"}\n";
constexpr std::size_t kHashDigits = 16;
constexpr std::size_t kTail = kBeforeHash.size() + kHashDigits + kAfterHash.size();
constexpr int kDepth = 3;  // the manifest, its list of files, a file, its fields

std::string text_of(std::uint64_t hash) { return fmt::format("{:016x}", hash); }

std::optional<std::uint64_t> hash_of(std::string_view digits) {
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  if (digits.size() != kHashDigits || !std::ranges::all_of(digits, is_digit)) return std::nullopt;
  std::uint64_t hash = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), hash, 16);
  return hash;
}

bool is_file_name(std::string_view name) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
  };
  return name.size() <= 255 && name.ends_with(".safetensors") && !name.starts_with('.') &&
         std::ranges::all_of(name, is_plain);
}

/// Reads the fields of one manifest; every complaint is a FileError.
class ManifestReader {
 public:
  explicit ManifestReader(const std::string& where) : where_(where) {}

  [[noreturn]] void fail(std::size_t at, const std::string& what) const {
    throw FileError(fmt::format("{}: at byte {}: {}", where_, at, what));
  }
  [[noreturn]] void fail(const std::string& what) const { throw FileError(fmt::format("{}: {}", where_, what)); }

  /// The hash at the end must be that of the text before.
  void check_hash(std::string_view text) const {
    if (text.size() > kManifestBytesMax) fail(fmt::format("{} bytes, at most {}", text.size(), kManifestBytesMax));
    if (text.size() < kTail || !text.ends_with(kAfterHash))
      fail(text.size(), "the manifest does not end with its hash");
    const std::string_view before = text.substr(0, text.size() - kTail);
    const std::string_view tail = text.substr(before.size());
    const auto hash = hash_of(tail.substr(kBeforeHash.size(), kHashDigits));
    if (!tail.starts_with(kBeforeHash) || !hash) fail(before.size(), "the manifest does not end with its hash");
    const std::uint64_t found = XXH64(before.data(), before.size(), 0);
    if (found != *hash) {
      fail(before.size(), fmt::format("the hash of the text before is {}, not {}", text_of(found), text_of(*hash)));
    }
  }

  [[nodiscard]] nlohmann::json parsed(std::string_view text) const {
    // Refuses deeper texts before they are stored, so that memory is bounded by the size of the text.
    const auto not_deep = [this](int depth, nlohmann::json::parse_event_t event, const nlohmann::json& /*value*/) {
      using Event = nlohmann::json::parse_event_t;
      if (depth >= kDepth && (event == Event::object_start || event == Event::array_start))
        fail("not a manifest: lists inside a file's fields");
      return true;
    };
    try {
      return nlohmann::json::parse(text, not_deep);
    } catch (const nlohmann::json::parse_error& error) {
      fail(error.byte, "not JSON");
    } catch (const nlohmann::json::out_of_range&) {
      fail("a number that is too large");
    }
  }

  [[nodiscard]] std::string text(const nlohmann::json& object, const char* key) const {
    const auto found = object.find(key);
    if (found == object.end() || !found->is_string()) fail(fmt::format("no text \"{}\"", key));
    return found->get<std::string>();
  }
  [[nodiscard]] std::uint64_t number(const nlohmann::json& object, const char* key) const {
    const auto found = object.find(key);
    if (found == object.end() || !found->is_number_unsigned()) fail(fmt::format("no number \"{}\"", key));
    return found->get<std::uint64_t>();
  }

  [[nodiscard]] ManifestFile file(const nlohmann::json& object) const {
    if (!object.is_object()) fail("an entry of \"files\" is no object");
    ManifestFile file{text(object, "name"), text(object, "part"), number(object, "bytes"), 0};
    if (!is_file_name(file.name)) fail(fmt::format("not a file name: \"{}\"", file.name));
    const std::string digits = text(object, "xxh64");
    const auto hash = hash_of(digits);
    if (!hash) fail(fmt::format("{}: not a hash: \"{}\"", file.name, digits));
    file.hash = *hash;
    return file;
  }

 private:
  const std::string& where_;
};

}  // namespace

std::string format_manifest(std::span<const ManifestFile> files) {
  std::string text = fmt::format("{{\"format\":\"{}\",\"version\":{},\"files\":[", kFormat, kVersion);
  try {
    for (const ManifestFile& file : files) {
      text += fmt::format("{}\n  {{\"name\":{},\"part\":{},\"bytes\":{},\"xxh64\":\"{}\"}}",
                          &file == files.data() ? "" : ",", nlohmann::json(file.name).dump(),
                          nlohmann::json(file.part).dump(), file.bytes, text_of(file.hash));
    }
  } catch (const nlohmann::json::type_error&) {
    throw ValueError("[checkpoint] the name of a part is not UTF-8");
  }
  text += "],\n";
  text += fmt::format("{}{}{}", kBeforeHash, text_of(XXH64(text.data(), text.size(), 0)), kAfterHash);
  if (text.size() > kManifestBytesMax) {
    throw ValueError(fmt::format("[checkpoint] a manifest of {} bytes, at most {}", text.size(), kManifestBytesMax));
  }
  return text;
}

std::vector<ManifestFile> parse_manifest(const std::string& where, std::string_view text) {
  const ManifestReader reader(where);
  reader.check_hash(text);
  const nlohmann::json manifest = reader.parsed(text);
  if (!manifest.is_object()) reader.fail("no object");
  if (const std::string format = reader.text(manifest, "format"); format != kFormat)
    reader.fail(fmt::format("the format is \"{}\", not \"{}\"", format, kFormat));
  if (const std::uint64_t version = reader.number(manifest, "version"); version != kVersion)
    reader.fail(fmt::format("version {} of the format, this program reads {}", version, kVersion));
  const auto list = manifest.find("files");
  if (list == manifest.end() || !list->is_array()) reader.fail("no list \"files\"");
  std::vector<ManifestFile> files;
  std::set<std::string> names;
  for (const nlohmann::json& entry : *list) {
    files.push_back(reader.file(entry));
    if (!names.insert(files.back().name).second)
      reader.fail(fmt::format("file given twice: \"{}\"", files.back().name));
  }
  return files;
}

}  // namespace troupe::detail
