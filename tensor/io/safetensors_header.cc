#include "tensor/io/safetensors_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "tensor/io/extent.h"
#include "tensor/io/file_error.h"

namespace troupe::detail {
namespace {

constexpr std::string_view kMetadata = "__metadata__";
constexpr std::size_t kTextOffset = 8;  ///< offset of the text in the file; its length precedes it

constexpr std::array<std::pair<std::string_view, DType>, 10> kNames{{
    {"BOOL", DType::boolean},
    {"U8", DType::u8},
    {"I8", DType::i8},
    {"I16", DType::i16},
    {"I32", DType::i32},
    {"I64", DType::i64},
    {"F16", DType::f16},
    {"BF16", DType::bf16},
    {"F32", DType::f32},
    {"F64", DType::f64},
}};

std::optional<DType> dtype_of_name(std::string_view name) {
  for (const auto& [known, dtype] : kNames) {
    if (known == name) return dtype;
  }
  return std::nullopt;
}

std::string name_in_file(DType dtype) {
  for (const auto& [name, known] : kNames) {
    if (known == dtype) return std::string(name);
  }
  throw DTypeError(fmt::format("[safetensors] the format has no dtype for: {}", name_of(dtype)));
}

/// Reads characters and stores its position in `*at`, so that the receiver of a token knows the token's place.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* begin, std::size_t* at) : begin_(begin), at_(at), index_(*at) {}
  CountingIterator(const char* begin, std::size_t index) : begin_(begin), index_(index) {}

  reference operator*() const { return begin_[index_]; }
  CountingIterator& operator++() {
    ++index_;
    if (at_ != nullptr) *at_ = index_;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(const CountingIterator& a, const CountingIterator& b) { return a.index_ == b.index_; }

 private:
  const char* begin_;
  std::size_t* at_ = nullptr;
  std::size_t index_;
};

/// Receives the JSON token by token and builds no tree, so neither depth nor repetition costs memory.
class HeaderReader {
 public:
  HeaderReader(const std::string& where, const std::size_t* at) : where_(where), at_(at) {}

  SafetensorsHeader take() { return std::move(header_); }

  // Callbacks of nlohmann's parser; true tells it to continue.

  bool start_object(std::size_t) {
    if (place_ == Place::outside) return go(Place::top);
    if (place_ == Place::tensor_or_metadata) {
      if (key_ == kMetadata) return go(Place::metadata);
      header_.entries.emplace_back().name = key_;
      given_ = {};
      return go(Place::tensor);
    }
    fail("an object where none may be");
  }

  bool key(std::string& name) {
    key_ = name;
    if (place_ == Place::top) {
      if (!names_.insert(name).second) fail(fmt::format("\"{}\" is given twice", name));
      return go(Place::tensor_or_metadata);
    }
    if (place_ == Place::metadata) {
      if (header_.metadata.contains(name)) fail(fmt::format("\"{}\" is given twice", name));
      return go(Place::metadata_value);
    }
    for (std::size_t i = 0; i < kKeys.size(); ++i) {
      if (kKeys[i].first != name) continue;
      if (std::exchange(given_[i], true)) fail(fmt::format("\"{}\" is given twice", name));
      return go(kKeys[i].second);
    }
    fail(fmt::format("\"{}\" is not known", name));
  }

  bool string(std::string& text) {
    if (place_ == Place::metadata_value) {
      header_.metadata.emplace(key_, std::move(text));
      return go(Place::metadata);
    }
    if (place_ != Place::dtype) fail("a string where none may be");
    const std::optional<DType> dtype = dtype_of_name(text);
    if (!dtype) fail(fmt::format("not a dtype: \"{}\"", text));
    entry().dtype = *dtype;
    return go(Place::tensor);
  }

  bool start_array(std::size_t) {
    if (place_ == Place::shape) return go(Place::sizes);
    if (place_ == Place::offsets) return go(Place::begin);
    fail("a list where none may be");
  }

  bool number_unsigned(std::uint64_t number) {
    if (place_ == Place::sizes) {
      if (number > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) fail("a size that does not fit");
      if (entry().shape.size() == kDimsMax) fail(fmt::format("more than {} dimensions", kDimsMax));
      entry().shape.push_back(static_cast<std::int64_t>(number));
      return true;
    }
    if (place_ == Place::begin) {
      entry().begin = number;
      return go(Place::end);
    }
    if (place_ != Place::end) fail("a number where none may be");
    entry().end = number;
    return go(Place::after_end);
  }

  bool end_array() {
    if (place_ != Place::sizes && place_ != Place::after_end) fail("\"data_offsets\" are not two numbers");
    return go(Place::tensor);
  }

  bool end_object() {
    if (place_ == Place::tensor && given_ != std::array{true, true, true}) {
      fail(
          fmt::format("not all of \"dtype\", \"shape\" and \"data_offsets\" of tensor \"{}\" are given", entry().name));
    }
    return go(place_ == Place::top ? Place::outside : Place::top);
  }

  [[noreturn]] bool number_integer(std::int64_t) { fail("a negative number"); }
  [[noreturn]] bool number_float(double, const std::string& text) { fail(fmt::format("not an integer: {}", text)); }
  [[noreturn]] bool boolean(bool) { fail("true or false where none may be"); }
  [[noreturn]] bool null() { fail("null where none may be"); }
  [[noreturn]] bool binary(nlohmann::json::binary_t&) { fail("bytes where none may be"); }
  [[noreturn]] bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) {
    fail("not JSON");
  }

 private:
  /// The position of the next token in the structure of the header.
  enum class Place : std::uint8_t {
    outside,
    top,
    tensor_or_metadata,
    metadata,
    metadata_value,
    tensor,
    dtype,
    shape,
    sizes,
    offsets,
    begin,
    end,
    after_end,
  };
  static constexpr std::array<std::pair<std::string_view, Place>, 3> kKeys{
      {{"dtype", Place::dtype}, {"shape", Place::shape}, {"data_offsets", Place::offsets}}};

  bool go(Place place) {
    place_ = place;
    return true;
  }
  SafetensorsEntry& entry() { return header_.entries.back(); }
  [[noreturn]] void fail(const std::string& what) const {
    throw FileError(fmt::format("{}: at byte {}: {}", where_, kTextOffset + *at_, what));
  }

  const std::string& where_;
  const std::size_t* at_;
  Place place_ = Place::outside;
  std::string key_;
  std::array<bool, 3> given_{};  ///< the kKeys read so far of the current tensor
  std::set<std::string> names_;
  SafetensorsHeader header_;
};

}  // namespace

SafetensorsHeader parse_safetensors_header(const std::string& where, std::string_view text) {
  if (!text.starts_with('{')) {
    throw FileError(fmt::format("{}: at byte {}: the header does not begin with {{", where, kTextOffset));
  }
  // The parser takes a byte of 0 for the end of the text and would ignore the bytes after it.
  if (const std::size_t end = text.find('\0'); end != std::string_view::npos) {
    throw FileError(fmt::format("{}: at byte {}: a byte of 0 in the header", where, kTextOffset + end));
  }
  std::size_t at = 0;
  HeaderReader reader(where, &at);
  const CountingIterator begin(text.data(), &at);
  const CountingIterator end(text.data(), text.size());
  (void)nlohmann::json::sax_parse(begin, end, &reader);  // the reader throws on every error
  return reader.take();
}

std::uint64_t lay_out(std::vector<SafetensorsEntry>& entries) {
  // The widest elements come first, so that each tensor begins at a multiple of its element size.
  std::ranges::stable_sort(entries, {}, [](const SafetensorsEntry& entry) {
    return std::pair(-static_cast<int>(size_of(entry.dtype)), std::string_view(entry.name));
  });
  std::uint64_t end = 0;
  for (SafetensorsEntry& entry : entries) {
    entry.begin = end;
    entry.end = end += nbytes_of(entry.shape, entry.dtype).value();
  }
  return end;
}

std::string format_safetensors_header(const SafetensorsHeader& header) {
  // Builds the text by hand: an ordered_json object searches all its names at each insertion, here up to 100,000.
  std::string text = "{";
  const auto add = [&](const std::string& name, const nlohmann::ordered_json& value) {
    text += fmt::format("{}{}:{}", text.size() > 1 ? "," : "", nlohmann::json(name).dump(), value.dump());
  };
  std::set<std::string_view> names{kMetadata};
  try {
    if (!header.metadata.empty()) add(std::string(kMetadata), header.metadata);
    for (const SafetensorsEntry& entry : header.entries) {
      if (entry.name == kMetadata) throw ValueError(fmt::format("[safetensors] not a name: {}", entry.name));
      if (!names.insert(entry.name).second) {
        throw ValueError(fmt::format("[safetensors] name given twice: {}", entry.name));
      }
      add(entry.name, {{"dtype", name_in_file(entry.dtype)},
                       {"shape", std::vector<std::int64_t>(entry.shape.begin(), entry.shape.end())},
                       {"data_offsets", {entry.begin, entry.end}}});
    }
  } catch (const nlohmann::json::type_error&) {
    throw ValueError("[safetensors] a name or metadata that is not UTF-8");
  }
  text += '}';
  text.append((8 - text.size() % 8) % 8, ' ');
  return text;
}

}  // namespace troupe::detail
