#include "node/unmapped_user.h"

#include <cstdint>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

namespace troupe::detail {
namespace {

constexpr uid_t kOverflowUid = 65'534;         // the kernel's default
constexpr std::uint64_t kUsers = 4294967295U;  // all but -1, which is no user

std::string text_of(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A line is "first here, first outside, count"; lines do not overlap.
bool maps_all(std::string_view uid_map) {
  std::istringstream lines{std::string(uid_map)};
  std::uint64_t mapped = 0;
  for (std::uint64_t here = 0, outside = 0, count = 0; lines >> here >> outside >> count;) mapped += count;
  return mapped >= kUsers;
}

}  // namespace

bool may_be_several(uid_t user, std::string_view overflow_uid, std::string_view uid_map) {
  uid_t overflow = kOverflowUid;
  std::istringstream{std::string(overflow_uid)} >> overflow;
  return user == overflow && !maps_all(uid_map);
}

bool may_be_several(uid_t user) {
  return may_be_several(user, text_of("/proc/sys/kernel/overflowuid"), text_of("/proc/self/uid_map"));
}

}  // namespace troupe::detail
