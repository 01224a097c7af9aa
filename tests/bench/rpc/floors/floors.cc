#include "tests/bench/rpc/floors/floors.h"

#include "tests/bench/rpc/floors/adds_floor.h"
#include "tests/bench/rpc/floors/fresh_floor.h"
#include "tests/bench/rpc/floors/turns_floor.h"

namespace troupe::bench {
namespace {

/// Adds the floors of `fresh/<size>`.
void add_fresh(std::vector<Floor>& floors, const std::string& size, std::size_t floats, std::size_t count) {
  const std::string row = "fresh/" + size;
  const auto add = [&](const std::string& name, Pages pages) {
    floors.push_back({name, row, count, [=](std::size_t times) { return fresh_floor(times, floats, pages); }});
  };
  add(row, Pages::pooled);
  add(row + "/copied", Pages::copied);
  add(row + "/fresh_pages", Pages::fresh);
}

}  // namespace

std::vector<Floor> rpc_floors() {
  const std::string adds = "adds/200/4MB";
  std::vector<Floor> floors{
      {adds, adds, 30, [](std::size_t count) { return adds_floor(count, 200, std::size_t{1} << 20); }}};
  add_fresh(floors, "4MB", std::size_t{1} << 20, 200);
  add_fresh(floors, "64MB", std::size_t{1} << 24, 30);
  for (const char* size : {"none", "4B", "64KB", "1MB", "4MB", "64MB"}) {
    const std::string row = std::string("identity/") + size;
    floors.push_back({row, row, 5000, &turns_floor});
  }
  return floors;
}

}  // namespace troupe::bench
