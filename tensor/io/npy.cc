#include "tensor/io/npy.h"

#include <fmt/format.h>

#include <span>
#include <string>

#include "tensor/io/mapped_file.h"
#include "tensor/io/new_file.h"
#include "tensor/io/npy_format.h"

namespace troupe {

Tensor read_npy(const FilePath& path) {
  return detail::parse_npy(fmt::format("[npy] {}", path.text()), detail::map_file("npy", path.text()));
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
