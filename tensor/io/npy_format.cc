#include "tensor/io/npy_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "tensor/io/extent.h"
#include "tensor/io/file_error.h"
#include "tensor/io/mapped_file.h"

namespace troupe::detail {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are copied as they lie in the file");

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kAlignment = 64;  ///< alignment of the first element in the file, in bytes

constexpr std::array<std::pair<std::string_view, DType>, 9> kDescriptions{{
    {"|b1", DType::boolean},
    {"|u1", DType::u8},
    {"|i1", DType::i8},
    {"<i2", DType::i16},
    {"<i4", DType::i32},
    {"<i8", DType::i64},
    {"<f2", DType::f16},
    {"<f4", DType::f32},
    {"<f8", DType::f64},
}};

std::optional<DType> dtype_of_description(std::string_view description) {
  for (const auto& [name, dtype] : kDescriptions) {
    if (name == description) return dtype;
  }
  return std::nullopt;
}

std::string_view description_of(DType dtype) {
  for (const auto& [name, described] : kDescriptions) {
    if (described == dtype) return name;
  }
  return "";
}

/// The content of the header, a Python dictionary of three entries.
struct Header {
  DType dtype = DType::f32;
  bool fortran_order = false;
  Shape shape;
};

/// Parses `{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }` and refuses all other text.
class HeaderParser {
 public:
  /// The text begins at byte `offset` of the file.
  HeaderParser(const std::string& where, std::string_view text, std::size_t offset)
      : where_(where), text_(text), offset_(offset) {}

  Header parse() {
    std::vector<std::string> keys;
    expect('{');
    while (!take('}')) {
      const std::size_t key_at = at_;
      const std::string key = string();
      if (std::ranges::count(keys, key) > 0) fail(key_at, fmt::format("'{}' given twice", key));
      keys.push_back(key);
      expect(':');
      value(key, key_at);
      if (!take(',') && peek() != '}') fail(at_, "no ',' or '}' after a value");
    }
    if (keys.size() != 3) fail(at_, "not all of 'descr', 'fortran_order' and 'shape' are given");
    skip_spaces();
    if (at_ < text_.size()) fail(at_, "more than a dictionary");
    return header_;
  }

 private:
  void value(const std::string& key, std::size_t key_at) {
    if (key == "descr") {
      const std::size_t at = (skip_spaces(), at_);
      const std::string description = string();
      const std::optional<DType> dtype = dtype_of_description(description);
      if (!dtype) fail(at, fmt::format("dtype '{}' is not supported", description));
      header_.dtype = *dtype;
    } else if (key == "fortran_order") {
      header_.fortran_order = boolean();
    } else if (key == "shape") {
      header_.shape = sizes();
    } else {
      fail(key_at, fmt::format("'{}' is not known", key));
    }
  }

  std::string string() {
    skip_spaces();
    const char quote = peek();
    if (quote != '\'' && quote != '"') fail(at_, "no string");
    const std::size_t end = text_.find(quote, at_ + 1);
    const std::string_view inside = text_.substr(at_ + 1, end == std::string_view::npos ? end : end - at_ - 1);
    if (end == std::string_view::npos) fail(at_, "a string without an end");
    if (!std::ranges::all_of(inside, [](char c) { return c >= ' ' && c <= '~' && c != '\\'; })) {
      fail(at_, "a string that is not plain text");
    }
    at_ = end + 1;
    return std::string(inside);
  }

  bool boolean() {
    skip_spaces();
    for (const auto& [word, value] : {std::pair<std::string_view, bool>{"True", true}, {"False", false}}) {
      if (!text_.substr(at_).starts_with(word)) continue;
      at_ += word.size();
      return value;
    }
    fail(at_, "neither True nor False");
  }

  /// Parses a tuple of integers: `()`, `(3,)`, `(2, 3)`.
  Shape sizes() {
    expect('(');
    Shape shape;
    while (!take(')')) {
      if (shape.size() == kDimsMax) fail(at_, fmt::format("more than {} dimensions", kDimsMax));
      shape.push_back(integer());
      if (!take(',') && peek() != ')') fail(at_, "no ',' or ')' after a size");
    }
    return shape;
  }

  std::int64_t integer() {
    skip_spaces();
    const std::size_t begin = at_;
    std::int64_t number = 0;
    for (; peek() >= '0' && peek() <= '9'; ++at_) {
      if (__builtin_mul_overflow(number, 10, &number) || __builtin_add_overflow(number, peek() - '0', &number)) {
        fail(begin, "a size that does not fit");
      }
    }
    if (at_ == begin) fail(at_, "no size");
    if (peek() == 'L') ++at_;  // suffix of long integers in Python 2
    return number;
  }

  void skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }
  [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(char c) {
    skip_spaces();
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail(at_, fmt::format("no '{}'", c));
  }
  [[noreturn]] void fail(std::size_t at, const std::string& what) const {
    throw FileError(fmt::format("{}: at byte {}: {}", where_, offset_ + at, what));
  }

  const std::string& where_;
  std::string_view text_;
  std::size_t offset_;
  std::size_t at_ = 0;
  Header header_;
};

/// Reads from the source, counts the bytes, and never reads beyond the end.
class Reader {
 public:
  explicit Reader(const NpySource& source) : source_(source) {}

  void read(std::span<std::byte> into, const char* what) {
    if (into.size() > left()) fail(at_, fmt::format("{} of {} bytes, {} are left", what, into.size(), left()));
    source_.read(into);
    at_ += into.size();
  }
  std::string text(std::size_t size, const char* what) {
    if (size > left()) fail(at_, fmt::format("{} of {} bytes, {} are left", what, size, left()));
    std::string result(size, '\0');
    read(std::as_writable_bytes(std::span(result)), what);
    return result;
  }
  [[nodiscard]] std::uint64_t left() const { return source_.size - at_; }
  [[nodiscard]] std::uint64_t at() const { return at_; }
  [[noreturn]] void fail(std::uint64_t at, const std::string& what) const {
    throw FileError(fmt::format("{}: at byte {}: {}", source_.where, at, what));
  }

 private:
  const NpySource& source_;
  std::uint64_t at_ = 0;
};

/// Decodes a little-endian number.
std::size_t little_endian(std::string_view bytes) {
  std::size_t number = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) number |= std::size_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  return number;
}

Header read_header(const std::string& where, Reader& reader) {
  if (reader.text(kMagic.size(), "magic") != kMagic) reader.fail(0, "not an .npy file");
  const std::string version = reader.text(2, "version");
  const int major = static_cast<unsigned char>(version[0]);
  if (major < 1 || major > 3 || version[1] != 0) {
    reader.fail(6, fmt::format("version {}.{} is not known", major, static_cast<unsigned char>(version[1])));
  }
  const std::size_t length = little_endian(reader.text(major == 1 ? 2 : 4, "length of the header"));
  if (length > reader.left()) reader.fail(8, fmt::format("header of {} bytes, {} are left", length, reader.left()));
  const std::size_t offset = reader.at();
  const std::string text = reader.text(length, "header");
  return HeaderParser(where, text, offset).parse();
}

Strides fortran_strides(const Shape& shape) {
  Strides strides(std::span(shape.begin(), shape.end()));
  std::int64_t step = 1;
  for (int i = 0; i < shape.size(); ++i) {
    strides[i] = step;
    step *= std::max<std::int64_t>(shape[i], 1);
  }
  return strides;
}

/// Reads what precedes the elements. Nothing but the elements follows.
Header read_up_to_elements(const std::string& where, Reader& reader) {
  Header header = read_header(where, reader);
  if (nbytes_of(header.shape, header.dtype) != reader.left()) {
    reader.fail(reader.at(), fmt::format("elements of {} bytes for {} {}", reader.left(), name_of(header.dtype),
                                         to_string(header.shape)));
  }
  return header;
}

/// Returns the tensor with the elements `storage`, which begin at byte `begin` of the file.
Tensor tensor_of(const Reader& reader, std::uint64_t begin, const Header& header, Storage storage) {
  if (header.dtype == DType::boolean) {
    if (const auto wrong = first_not_boolean({storage.data(), storage.size()}))
      reader.fail(begin + *wrong, "a boolean that is neither 0 nor 1");
  }
  const Strides strides = header.fortran_order ? fortran_strides(header.shape) : contiguous_strides(header.shape);
  return Tensor::from_storage(std::move(storage), header.shape, strides, 0, header.dtype);
}

}  // namespace

Tensor parse_npy(const NpySource& source) {
  Reader reader(source);
  const Header header = read_up_to_elements(source.where, reader);
  const std::uint64_t begin = reader.at();
  const std::size_t nbytes = reader.left();
  Storage storage = Storage::allocate(nbytes);
  reader.read({storage.mutable_data(), nbytes}, "elements");
  return tensor_of(reader, begin, header, std::move(storage));
}

Tensor parse_npy(const std::string& where, const FrozenBytes& mapped) {
  std::span<const std::byte> rest = mapped.bytes();
  const NpySource source{where, rest.size(), [&rest](std::span<std::byte> into) {
                           std::ranges::copy(rest.first(into.size()), into.begin());
                           rest = rest.subspan(into.size());
                         }};
  Reader reader(source);
  const Header header = read_up_to_elements(where, reader);
  Storage storage = storage_of(mapped.part(reader.at(), rest.size()), header.dtype);
  return tensor_of(reader, reader.at(), header, std::move(storage));
}

std::string npy_header(const Tensor& x) {
  std::string sizes;
  for (const std::int64_t size : x.shape()) sizes += fmt::format("{}{}", sizes.empty() ? "" : ", ", size);
  if (x.dim() == 1) sizes += ',';
  std::string text =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", description_of(x.dtype()), sizes);
  const std::size_t before = kMagic.size() + 4;
  const std::size_t unpadded = before + text.size() + 1;
  text.append((kAlignment - unpadded % kAlignment) % kAlignment, ' ');
  text += '\n';
  std::string header(kMagic);
  for (const std::size_t byte : {std::size_t{1}, std::size_t{0}, text.size() % 256, text.size() / 256}) {
    header += static_cast<char>(byte);
  }
  return header + text;
}

Tensor as_written_to_npy(std::string_view format, const Tensor& x) {
  x.require_defined(format);
  if (description_of(x.dtype()).empty()) {
    throw DTypeError(fmt::format("[{}] NumPy has no dtype for: {}", format, name_of(x.dtype())));
  }
  if (!nbytes_of(x.shape(), x.dtype()))
    throw ValueError(fmt::format("[{}] {} is too large", format, to_string(x.shape())));
  return x.to(Device::cpu()).contiguous();
}

}  // namespace troupe::detail
