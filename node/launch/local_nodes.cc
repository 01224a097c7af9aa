#include "node/launch/local_nodes.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

namespace troupe::detail {
namespace {

constexpr std::size_t kLeftoverMax = 4 << 20;  // the most output read from a node that has ended

}  // namespace

void LocalNodes::add_polled(std::vector<pollfd>& polled) {
  polled_.clear();
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    for (const Output stream : {Output::out, Output::err}) {
      if (!nodes_[i]->output(stream).is_open()) continue;
      polled.push_back({nodes_[i]->output(stream).get(), POLLIN, 0});
      polled_.emplace_back(i, stream);
    }
  }
}

void LocalNodes::read(std::span<const pollfd> polled, const TakeOutput& take) {
  for (std::size_t i = 0; i < polled.size(); ++i) {
    if (polled[i].revents != 0) (void)read(polled_[i].first, polled_[i].second, take);
  }
}

std::vector<NodeEnd> LocalNodes::take_ends(const TakeOutput& take) {
  std::vector<NodeEnd> ends;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (const auto status = nodes_[i]->try_end()) ends.push_back({i, *status});
  }
  std::stable_partition(ends.begin(), ends.end(), [](const NodeEnd& end) { return end.status.by_signal(); });
  for (const NodeEnd& end : ends) {
    for (const Output stream : {Output::out, Output::err}) {
      for (std::size_t taken = 0; nodes_[end.node]->output(stream).is_open() && taken < kLeftoverMax;) {
        const std::size_t size = read(end.node, stream, take);
        if (size == 0) break;
        taken += size;
      }
      nodes_[end.node]->output(stream).close();
    }
  }
  return ends;
}

std::size_t LocalNodes::read(std::size_t node, Output stream, const TakeOutput& take) {
  FileDescriptor& output = nodes_[node]->output(stream);
  const ssize_t size = ::read(output.get(), buffer_.data(), buffer_.size());
  if (size == 0) output.close();
  if (size <= 0) return 0;
  take(node, stream, std::string_view(buffer_.data(), static_cast<std::size_t>(size)));
  return static_cast<std::size_t>(size);
}

}  // namespace troupe::detail
