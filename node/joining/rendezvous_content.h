// What a rendezvous file holds: rendezvous_file.h.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "actors/link.h"

namespace troupe {

/// A cluster, and nodes through which others join it. Untrusted: any process that can write to the file may have
/// written it.
struct RendezvousContent {
  std::string cluster_id;
  std::vector<Peer> nodes;
  friend bool operator==(const RendezvousContent&, const RendezvousContent&) = default;

  /// Returns nullopt unless `text` is exactly what `text()` returns: a first line with the cluster, and a line for each
  /// node, with 32 hexadecimal digits, a valid name and an address without control characters.
  [[nodiscard]] static std::optional<RendezvousContent> parse(std::string_view text);

  /// REQUIRES: as for `parse`.
  [[nodiscard]] std::string text() const;
};

/// Returns whether `text` has no control characters, and so fits into a line of the file.
[[nodiscard]] bool fits_rendezvous_line(std::string_view text);

}  // namespace troupe
