// The receiver's side of flow control: what a peer's call holds on this node until it starts.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace troupe {

/// The grant from which a call takes. Calls made inside served functions have their own grant, which outer calls cannot
/// use up: otherwise two nodes whose functions call each other could wait for each other's callers.
enum class Charge : std::uint8_t {
  none = 0,  ///< control messages and answers
  call = 1,
  nested = 2,
};

/// What the arrived calls of one peer hold until they start. One session writes `taken`; any thread gives back.
class CreditAccount {
 public:
  /// `told` is called, if the session has requested it, on the thread that gives back. REQUIRES: it does not block.
  explicit CreditAccount(std::function<void()> told) : told_(std::move(told)) {}
  CreditAccount(const CreditAccount&) = delete;
  CreditAccount& operator=(const CreditAccount&) = delete;

  void give_back(Charge charge, std::uint64_t bytes);

  /// Returns the calls and bytes given back since the session started.
  [[nodiscard]] std::uint64_t calls(Charge charge) const { return side(charge).calls.load(std::memory_order_acquire); }
  [[nodiscard]] std::uint64_t bytes(Charge charge) const { return side(charge).bytes.load(std::memory_order_acquire); }

  /// Requests one call of `told`, by the `give_back` after which `calls` of that side reach the number.
  void tell_at(Charge charge, std::uint64_t calls);

 private:
  struct Side {
    std::atomic<std::uint64_t> calls{0};
    std::atomic<std::uint64_t> bytes{0};
    std::atomic<std::uint64_t> tell_at{kNever};
  };
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};
  [[nodiscard]] Side& side(Charge charge) { return sides_[charge == Charge::nested ? 1 : 0]; }
  [[nodiscard]] const Side& side(Charge charge) const { return sides_[charge == Charge::nested ? 1 : 0]; }

  const std::function<void()> told_;
  std::array<Side, 2> sides_;
};

/// What one call holds until it starts or is dropped. Thread rule: any thread may call any member.
class CallCredit {
 public:
  CallCredit(std::shared_ptr<CreditAccount> account, Charge charge, std::uint64_t bytes)
      : account_(std::move(account)), charge_(charge), bytes_(bytes) {}
  ~CallCredit() { begin(); }
  CallCredit(const CallCredit&) = delete;
  CallCredit& operator=(const CallCredit&) = delete;

  /// The call starts: its caller may send another. Later calls do nothing.
  void begin() {
    if (!begun_.exchange(true, std::memory_order_acq_rel)) account_->give_back(charge_, bytes_);
  }

 private:
  const std::shared_ptr<CreditAccount> account_;
  const Charge charge_;
  const std::uint64_t bytes_;
  std::atomic<bool> begun_{false};
};

}  // namespace troupe
