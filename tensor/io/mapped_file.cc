#include "tensor/io/mapped_file.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include "tensor/io/opened_file.h"

namespace troupe::detail {
namespace {

class Mapping {
 public:
  Mapping(void* start, std::size_t size) noexcept : start_(start), size_(size) {}
  ~Mapping() { munmap(start_, size_); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

 private:
  void* start_;
  std::size_t size_;
};

FrozenBytes map(const OpenedFile& file) {
  const auto size = static_cast<std::size_t>(file.size());
  if (size == 0) return {};  // nothing to map
  void* const start = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
  if (start == MAP_FAILED) file.fail(errno);
  return {std::make_shared<const Mapping>(start, size), {static_cast<const std::byte*>(start), size}};
}

}  // namespace

FrozenBytes map_file(std::string_view format, const std::filesystem::path& file) {
  return map(OpenedFile(format, file));
}

std::optional<FrozenBytes> map_file_if_exists(std::string_view format, const std::filesystem::path& file) {
  const std::optional<OpenedFile> opened = OpenedFile::if_exists(format, file);
  if (!opened) return std::nullopt;
  return map(*opened);
}

Storage storage_of(const FrozenBytes& bytes, DType dtype) {
  const std::size_t size = bytes.bytes().size();
  const bool aligned = reinterpret_cast<std::uintptr_t>(bytes.bytes().data()) % size_of(dtype) == 0;
  if (aligned && size > 0) return Storage::adopt(bytes);
  Storage storage = Storage::allocate(size);
  if (size > 0) std::memcpy(storage.mutable_data(), bytes.bytes().data(), size);
  return storage;
}

}  // namespace troupe::detail
