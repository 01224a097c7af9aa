#include "tensor/io/npy.h"

#include <fmt/format.h>

#include <span>
#include <string>

#include "tensor/io/new_file.h"
#include "tensor/io/npy_format.h"
#include "tensor/io/opened_file.h"

namespace troupe {

Tensor read_npy(const FilePath& path) {
  detail::OpenedFile file("npy", path.text());
  const auto read = [&](std::span<std::byte> into) { file.read(into); };
  return detail::parse_npy({fmt::format("[npy] {}", path.text()), file.size(), read});
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
