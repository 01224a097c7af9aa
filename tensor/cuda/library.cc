#include "tensor/cuda/library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include "tensor/error.h"

namespace troupe::cuda {
namespace {

void* or_fail(std::string_view op, void* found) {
  if (found == nullptr) throw DeviceError(fmt::format("[{}] {}", op, dlerror()));
  return found;
}

}  // namespace

Library::Library(std::string_view op, const std::string& name)
    : op_(op), handle_(or_fail(op, dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL))) {}

void* Library::find(const char* name) const { return or_fail(op_, dlsym(handle_, name)); }

}  // namespace troupe::cuda
