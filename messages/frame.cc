#include "messages/frame.h"

#include <utility>

namespace troupe {

Frame make_frame(std::vector<std::byte> bytes) {
  auto owner = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  const std::span<const std::byte> view(*owner);
  return {view, std::move(owner)};
}

}  // namespace troupe
