#include "node/visible_text.h"

#include <cstddef>

#include <fmt/format.h>

namespace troupe::detail {

std::string visible_text(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
    if (byte == 0xC2 && next >= 0x80 && next < 0xA0) {  // a control character of two bytes in UTF-8
      shown += fmt::format("\\x{:02x}", next);
      ++i;
    } else if ((byte < ' ' && byte != '\t' && byte != '\n') || byte == 0x7f) {
      shown += fmt::format("\\x{:02x}", byte);
    } else {
      shown += text[i];
    }
  }
  return shown;
}

}  // namespace troupe::detail
