#include "samples/parameter_server/mnist.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <initializer_list>
#include <numeric>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/create.h"
#include "tensor/error.h"

namespace samples {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kImagesMagic = 0x00000803;
constexpr std::uint32_t kLabelsMagic = 0x00000801;
constexpr std::uint32_t kSide = 28;
constexpr std::int64_t kPixels = std::int64_t{kSide} * kSide;
constexpr std::uint8_t kClasses = 10;

constexpr const char* kTrainImages = "train-images-idx3-ubyte";
constexpr const char* kTrainLabels = "train-labels-idx1-ubyte";
constexpr const char* kTestImages = "t10k-images-idx3-ubyte";
constexpr const char* kTestLabels = "t10k-labels-idx1-ubyte";

std::string hex(std::uint32_t value) {
  std::ostringstream out;
  out << "0x" << std::hex;
  out.width(8);
  out.fill('0');
  out << value;
  return out.str();
}

[[noreturn]] void refuse(const fs::path& file, const std::string& what) { throw IdxError(file.string() + ": " + what); }

std::ifstream open(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (in && !fs::is_directory(file)) return in;
  const fs::path packed = file.string() + ".gz";
  if (fs::exists(packed)) refuse(file, "not there, but its compressed form is: run gunzip -k " + packed.string());
  refuse(file, std::string("cannot read: ") + (in ? "is a directory" : std::strerror(errno)));
}

std::uint32_t read_u32(std::istream& in) {
  std::array<unsigned char, 4> bytes{};
  in.read(reinterpret_cast<char*>(bytes.data()), bytes.size());
  return std::accumulate(bytes.begin(), bytes.end(), std::uint32_t{0},
                         [](std::uint32_t value, unsigned char byte) { return value << 8U | byte; });
}

void write_u32(std::ostream& out, std::uint32_t value) {
  for (const unsigned shift : {24U, 16U, 8U, 0U}) out.put(static_cast<char>(value >> shift & 0xFFU));
}

/// Reads magic and sizes and checks that the file is exactly as long as they say. Returns the number of items.
std::int64_t read_header(std::istream& in, const fs::path& file, std::uint32_t magic, std::string_view kind,
                         std::initializer_list<std::uint32_t> item_sizes) {
  const std::uint64_t header_bytes = 4 * (2 + item_sizes.size());
  const std::uint64_t file_bytes = fs::file_size(file);
  if (file_bytes < header_bytes) {
    refuse(file,
           "truncated: " + std::to_string(file_bytes) + " bytes, the header alone has " + std::to_string(header_bytes));
  }
  if (const std::uint32_t found = read_u32(in); found != magic) {
    refuse(file, "magic number is " + hex(found) + ", that of " + std::string(kind) + " is " + hex(magic));
  }
  const std::uint64_t count = read_u32(in);
  std::uint64_t item_bytes = 1;
  for (const std::uint32_t expected : item_sizes) {
    if (const std::uint32_t found = read_u32(in); found != expected) {
      refuse(file, "a size of its images is " + std::to_string(found) + ", not " + std::to_string(expected));
    }
    item_bytes *= expected;
  }
  if (const std::uint64_t wanted = header_bytes + count * item_bytes; file_bytes != wanted) {
    refuse(file, std::string(file_bytes < wanted ? "truncated" : "too long") + ": " + std::to_string(count) + " " +
                     std::string(kind) + " take " + std::to_string(wanted) + " bytes, the file has " +
                     std::to_string(file_bytes));
  }
  return static_cast<std::int64_t>(count);
}

void read_bytes(std::istream& in, const fs::path& file, std::span<std::uint8_t> bytes) {
  in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!in) refuse(file, "cannot read: it became shorter meanwhile");
}

void write_file(const fs::path& file, std::initializer_list<std::uint32_t> header,
                std::span<const std::uint8_t> bytes) {
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  for (const std::uint32_t word : header) write_u32(out, word);
  out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out) refuse(file, std::string("cannot write: ") + std::strerror(errno));
}

}  // namespace

Digits read_idx(const fs::path& images, const fs::path& labels) {
  std::ifstream images_in = open(images);
  std::ifstream labels_in = open(labels);
  const std::int64_t count = read_header(images_in, images, kImagesMagic, "images", {kSide, kSide});
  const std::int64_t label_count = read_header(labels_in, labels, kLabelsMagic, "labels", {});
  if (count != label_count) {
    refuse(images,
           std::to_string(count) + " images, but " + std::to_string(label_count) + " labels in " + labels.string());
  }

  Digits digits{troupe::empty({count, kSide, kSide}, troupe::DType::u8), troupe::empty({count}, troupe::DType::u8)};
  read_bytes(images_in, images, digits.images.mutable_data<std::uint8_t>());
  const std::span<std::uint8_t> values = digits.labels.mutable_data<std::uint8_t>();
  read_bytes(labels_in, labels, values);
  if (const auto bad = std::ranges::find_if(values, [](std::uint8_t v) { return v >= kClasses; });
      bad != values.end()) {
    refuse(labels, "label " + std::to_string(bad - values.begin()) + " is " + std::to_string(*bad) + ", not 0 to 9");
  }
  return digits;
}

void write_idx(const Digits& digits, const fs::path& images, const fs::path& labels) {
  const auto count = static_cast<std::uint32_t>(digits.count());
  write_file(images, {kImagesMagic, count, kSide, kSide}, digits.images.data<std::uint8_t>());
  write_file(labels, {kLabelsMagic, count}, digits.labels.data<std::uint8_t>());
}

DigitData read_mnist(const fs::path& directory) {
  if (!fs::is_directory(directory)) refuse(directory, "no such directory");
  return {read_idx(directory / kTrainImages, directory / kTrainLabels),
          read_idx(directory / kTestImages, directory / kTestLabels)};
}

void write_mnist(const DigitData& data, const fs::path& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) refuse(directory, "cannot create: " + error.message());
  write_idx(data.train, directory / kTrainImages, directory / kTrainLabels);
  write_idx(data.test, directory / kTestImages, directory / kTestLabels);
}

Batch batch(const Digits& digits, std::span<const std::int64_t> rows) {
  // Mean and deviation of MNIST's training pixels, between 0 and 1.
  constexpr float kMean = 0.1307F;
  constexpr float kDeviation = 0.3081F;
  const auto count = static_cast<std::int64_t>(rows.size());
  Batch result{troupe::empty({count, 1, kSide, kSide}), troupe::empty({count}, troupe::DType::i64)};
  const std::span<const std::uint8_t> images = digits.images.data<std::uint8_t>();
  const std::span<const std::uint8_t> labels = digits.labels.data<std::uint8_t>();
  std::span<float> pixels = result.images.mutable_data<float>();
  std::span<std::int64_t> classes = result.labels.mutable_data<std::int64_t>();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::int64_t row = rows[i];
    if (row < 0 || row >= digits.count()) {
      throw troupe::IndexError("[batch] row out of range: " + std::to_string(row) + " of " +
                               std::to_string(digits.count()));
    }
    const auto image = images.subspan(static_cast<std::size_t>(row * kPixels), kPixels);
    std::ranges::transform(image, pixels.begin() + static_cast<std::ptrdiff_t>(i) * kPixels,
                           [](std::uint8_t byte) { return (static_cast<float>(byte) / 255.0F - kMean) / kDeviation; });
    classes[i] = labels[static_cast<std::size_t>(row)];
  }
  return result;
}

}  // namespace samples
