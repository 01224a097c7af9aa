#include "tensor/io/file_path.h"

#include <fmt/format.h>

#include "tensor/io/file_error.h"

namespace troupe {

void FilePath::check() const {
  if (text_.find('\0') != std::string::npos) throw FileError(fmt::format("[file] a NUL byte in a path: {:?}", text_));
}

}  // namespace troupe
