// An event: a point in the order of a GPU's work.
#pragma once

struct CUevent_st;  // target of a cudaEvent_t

namespace troupe::cuda {

/// Complete when all work requested of GPU `index` before the event's construction is done. Thread-safe. Every member
/// throws DeviceError `[event] cuda:0: ...` if some of that work failed.
class Event {
 public:
  explicit Event(int index);
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  /// Returns whether the event is complete.
  [[nodiscard]] bool done() const;
  /// Waits until the event is complete.
  void synchronize() const;
  /// Makes all later work on GPU `index` wait for the event. Returns at once.
  void wait_on(int index) const;

 private:
  int index_;
  CUevent_st* event_ = nullptr;
};

}  // namespace troupe::cuda
