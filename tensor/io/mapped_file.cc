#include "tensor/io/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <memory>
#include <system_error>

#include "tensor/io/file_error.h"

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

class Descriptor {
 public:
  explicit Descriptor(int number) noexcept : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int number() const noexcept { return number_; }

 private:
  int number_;
};

}  // namespace

FrozenBytes map_file(std::string_view format, const std::filesystem::path& file) {
  const auto fail = [&](int error) {
    throw FileError(fmt::format("[{}] {}: {}", format, file.string(), std::generic_category().message(error)));
  };
  const Descriptor descriptor(open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (descriptor.number() < 0) fail(errno);
  struct stat about {};
  if (fstat(descriptor.number(), &about) != 0) fail(errno);
  if (!S_ISREG(about.st_mode)) fail(S_ISDIR(about.st_mode) ? EISDIR : EINVAL);
  const auto size = static_cast<std::size_t>(about.st_size);
  if (size == 0) return {};  // nothing to map
  void* const start = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor.number(), 0);
  if (start == MAP_FAILED) fail(errno);
  return {std::make_shared<const Mapping>(start, size), {static_cast<const std::byte*>(start), size}};
}

}  // namespace troupe::detail
