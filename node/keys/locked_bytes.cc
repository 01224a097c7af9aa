#include "node/keys/locked_bytes.h"

#include <sodium.h>

#include <new>
#include <stdexcept>

namespace troupe {

LockedBytes::LockedBytes(std::size_t size) : size_(size) {
  if (sodium_init() < 0) throw std::runtime_error("libsodium cannot start");
  data_ = static_cast<std::byte*>(sodium_malloc(size));
  if (data_ == nullptr) throw std::bad_alloc();
}

LockedBytes::~LockedBytes() { sodium_free(data_); }

}  // namespace troupe
