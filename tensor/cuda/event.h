// A moment in what a GPU has been asked for.
#pragma once

struct CUevent_st;  // what a cudaEvent_t points to

namespace troupe::cuda {

/// The moment when all is done that GPU `index` was asked for before the event was made. Any thread.
/// Every member throws DeviceError `[event] cuda:0: ...` if something of that failed.
class Event {
 public:
  explicit Event(int index);
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  /// Whether it has come.
  [[nodiscard]] bool done() const;
  /// Returns when it has come.
  void synchronize() const;
  /// Makes whatever is asked of GPU `index` from now on wait for it. Returns at once.
  void wait_on(int index) const;

 private:
  int index_;
  CUevent_st* event_ = nullptr;
};

}  // namespace troupe::cuda
