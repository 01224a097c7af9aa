// Files of tensors that somebody else may have written.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <fmt/format.h>

#include "node/file_descriptor.h"
#include "tensor/create.h"
#include "tensor/io/checkpoint_manifest.h"
#include "tensor/io/file_error.h"
#include "tensor/io/npy.h"
#include "tensor/io/npy_format.h"
#include "tensor/io/npz.h"
#include "tensor/io/safetensors.h"
#include "tensor/io/safetensors_header.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/temporary_directory.h"

namespace troupe::fuzz {

namespace {

/// A file in memory.
class MemoryFile {
 public:
  explicit MemoryFile(Bytes bytes) : descriptor_(::memfd_create("fuzz", MFD_CLOEXEC)) {
    while (!bytes.empty()) {
      const ssize_t written = ::write(descriptor_.get(), bytes.data(), bytes.size());
      if (written <= 0) throw std::runtime_error("no memory for a file");
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
  }
  [[nodiscard]] std::string path() const { return fmt::format("/proc/self/fd/{}", descriptor_.get()); }

 private:
  troupe::detail::FileDescriptor descriptor_;
};

/// Returns the bytes of the file that `write(path)` makes.
template <class Write>
Input file_of(const std::string& name, const Write& write) {
  const testing::TemporaryDirectory directory;
  const std::filesystem::path path = directory.path() / name;
  write(path);
  std::ifstream in(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  return input_of(bytes);
}

Tensor ramp() { return from_values<float>({0, 1, 2, 3, 4, 5}, {2, 3}); }
Tensor numbers() { return from_values<std::int64_t>({7, 8}, {2}); }

void npy(Bytes input) {
  Reader reader(input);
  const auto read = [&reader](std::span<std::byte> into) {
    const Bytes bytes = reader.bytes(into.size());
    if (bytes.size() < into.size()) throw FileError("the end");
    std::ranges::copy(bytes, into.begin());
  };
  try {
    const FrozenBytes mapped(std::make_shared<const int>(), input);
    const Tensor x = troupe::detail::parse_npy("[npy] x.npy", mapped);
    expect(x.is_contiguous() || x.numel() > 0, "an array has elements or none");
    const Tensor y = troupe::detail::parse_npy({"[npy] x.npy", input.size(), read});
    expect(same_bytes(x, y), "a file that is mapped is the same array");
  } catch (const FileError&) {
  }
}

std::vector<Input> npy_seeds() {
  std::vector<Input> seeds;
  for (const Tensor& x : {ramp(), numbers(), ramp()[0][1], empty({0, 3})}) {
    seeds.push_back(file_of("x.npy", [&x](const auto& path) { write_npy(path, x); }));
  }
  return seeds;
}

void npz(Bytes input) {
  const MemoryFile file(input);
  try {
    (void)read_npz(file.path());
  } catch (const FileError&) {
  }
}

std::vector<Input> npz_seeds() {
  const NamedTensors arrays{{"w", ramp()}, {"n", numbers()}};
  std::vector<Input> seeds;
  for (const Compression compression : {Compression::none, Compression::deflate}) {
    seeds.push_back(file_of("x.npz", [&](const auto& path) { write_npz(path, arrays, compression); }));
  }
  return seeds;
}

void safetensors(Bytes input) {
  const MemoryFile file(input);
  try {
    (void)read_safetensors(file.path());
  } catch (const FileError&) {
  }
}

std::vector<Input> safetensors_seeds() {
  return {file_of("x.safetensors", [](const auto& path) {
    write_safetensors(path, {{"w", ramp()}, {"n", numbers()}}, {{"format", "pt"}});
  })};
}

void safetensors_header(Bytes input) {
  try {
    const auto header = troupe::detail::parse_safetensors_header("[safetensors] x", text_of(input));
    const std::string again = troupe::detail::format_safetensors_header(header);
    expect(troupe::detail::parse_safetensors_header("", again).entries.size() == header.entries.size(),
           "a header read is a header that can be written");
  } catch (const FileError&) {
  }
}

std::vector<Input> safetensors_header_seeds() {
  return {input_of(troupe::detail::format_safetensors_header(
      {{{"w", DType::f32, {2, 3}, 0, 24}, {"n", DType::i64, {}, 24, 32}}, {{"format", "pt"}}}))};
}

/// The text of a manifest as it is, and with the hash that anybody can compute at its end.
void manifest(Bytes input) {
  const std::string_view text = text_of(input);
  try {
    (void)troupe::detail::parse_manifest("[checkpoint] manifest.json", text);
  } catch (const FileError&) {
  }
  const std::string hashed =
      fmt::format("{}\"xxh64\":\"{:016x}\"}}\n", text, std::uint64_t{XXH64(text.data(), text.size(), 0)});
  try {
    const auto files = troupe::detail::parse_manifest("[checkpoint] manifest.json", hashed);
    expect(troupe::detail::parse_manifest("", troupe::detail::format_manifest(files)) == files,
           "a manifest read is a manifest that can be written");
  } catch (const FileError&) {
  }
}

std::vector<Input> manifest_seeds() {
  const troupe::detail::ManifestFile file{.name = "a.safetensors", .part = "model", .bytes = 7, .hash = 9};
  const std::string text = troupe::detail::format_manifest(std::span(&file, 1));
  return {input_of(text), input_of(std::string_view(text).substr(0, text.rfind("\"xxh64\"")))};
}

}  // namespace

std::vector<Target> file_targets() {
  return {
      {"npy", "tensor/io/npy_format.cc", npy, npy_seeds},
      {"npz", "tensor/io/npz.cc", npz, npz_seeds},
      {"safetensors", "tensor/io/safetensors.cc", safetensors, safetensors_seeds},
      {"safetensors_header", "tensor/io/safetensors_header.cc", safetensors_header, safetensors_header_seeds},
      {"manifest", "tensor/io/checkpoint_manifest.cc", manifest, manifest_seeds},
  };
}

}  // namespace troupe::fuzz
