#include "tensor/io/file_error.h"

#include <fmt/format.h>

#include <cerrno>
#include <system_error>

namespace troupe::detail {

void fail_with(const std::string& where, int error) {
  const std::string text = fmt::format("{}: {}", where, std::generic_category().message(error));
  if (error == ENOSPC || error == EDQUOT) throw StorageFullError(text);
  throw FileError(text);
}

}  // namespace troupe::detail
