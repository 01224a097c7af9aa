#include "autograd/call_path.h"

namespace troupe {
namespace {

/// The position of this thread in the program. Only guards change it.
struct Place {
  std::shared_ptr<const CallPath> path;
  std::atomic<std::uint64_t>* next_serial = nullptr;
  std::uint64_t own_next_serial = 0;
};

thread_local Place place;

}  // namespace

std::strong_ordering operator<=>(const CallPath& a, const CallPath& b) { return a.indices_ <=> b.indices_; }

CallPath CallPath::child(std::uint32_t index) const {
  std::vector<std::uint32_t> indices;
  indices.reserve(indices_.size() + 1);
  indices = indices_;
  indices.push_back(index);
  return CallPath(std::move(indices));
}

std::string CallPath::text() const {
  std::string text;
  for (std::uint32_t index : indices_) {
    if (!text.empty()) text += '.';
    text += std::to_string(index);
  }
  return text;
}

const CallPath& CreationMark::path() const noexcept {
  static const CallPath empty;
  return call ? *call : empty;
}

CallPathGuard::CallPathGuard(std::shared_ptr<const CallPath> path, std::atomic<std::uint64_t>& next_serial)
    : path_before_(std::exchange(place.path, std::move(path))),
      next_serial_before_(std::exchange(place.next_serial, &next_serial)) {}

CallPathGuard::~CallPathGuard() {
  place.path = std::move(path_before_);
  place.next_serial = next_serial_before_;
}

CreationMark take_creation_mark() {
  std::uint64_t serial =
      place.next_serial ? place.next_serial->fetch_add(1, std::memory_order_relaxed) : place.own_next_serial++;
  return {place.path, serial};
}

}  // namespace troupe
