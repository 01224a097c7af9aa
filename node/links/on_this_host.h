// Whether an address belongs to this machine, for callers that must not block.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace troupe {

/// A host name is looked up on a separate thread, because that may take seconds. The thread may outlive the object.
/// Thread rule: one thread at a time.
class OnThisHost {
 public:
  /// As `is_of_this_host` with HostNames::look_up.
  using LookUp = std::function<std::optional<bool>(std::string_view address)>;

  explicit OnThisHost(std::string address);
  OnThisHost(std::string address, LookUp look_up);

  /// Returns whether the address is known to belong to this machine. False also while its name is looked up: the first
  /// call starts that, and a later call repeats it if nothing was found. So ask again later.
  [[nodiscard]] bool is_known();

 private:
  enum class Found : std::uint8_t { nothing, awaited, here, elsewhere };
  static Found found(const std::optional<bool>& is_here);
  void look_up() const;

  const std::string address_;
  const LookUp look_up_;
  const std::shared_ptr<std::atomic<Found>> found_ = std::make_shared<std::atomic<Found>>(Found::nothing);
};

}  // namespace troupe
