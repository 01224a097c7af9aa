#include "tensor/io/npy.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <ios>
#include <span>
#include <string>
#include <system_error>

#include "tensor/io/new_file.h"
#include "tensor/io/npy_format.h"

namespace troupe {

Tensor read_npy(const FilePath& path) {
  const std::filesystem::path file(path.text());
  const std::string where = fmt::format("[npy] {}", file.string());
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(file, error);
  if (error) throw FileError(fmt::format("{}: {}", where, error.message()));
  std::ifstream in(file, std::ios::binary);
  if (!in) throw FileError(fmt::format("{}: cannot be opened", where));
  const auto read = [&](std::span<std::byte> into) {
    in.read(reinterpret_cast<char*>(into.data()), static_cast<std::streamsize>(into.size()));
    if (!in) throw FileError(fmt::format("{}: cannot be read any further", where));
  };
  return detail::parse_npy({where, size, read});
}

void write_npy(const FilePath& path, const Tensor& x) {
  const Tensor elements = detail::as_written_to_npy("npy", x);
  const std::string header = detail::npy_header(elements);
  detail::NewFile out("npy", path.text());
  out.write(std::as_bytes(std::span(header)));
  out.write({elements.bytes(), elements.nbytes()});
  out.commit();
}

}  // namespace troupe
