#include "actors/sessions/call_table.h"

#include <algorithm>
#include <functional>

namespace troupe::detail {

// std:: heaps keep the largest in front; `greater` makes that the earliest, ties in order of the requests.
void DeadlineHeap::add(TimePoint deadline, RequestId request) {
  heap_.emplace_back(deadline, request);
  std::push_heap(heap_.begin(), heap_.end(), std::greater<>{});
}

std::optional<std::pair<TimePoint, RequestId>> DeadlineHeap::front() const {
  if (heap_.empty()) return std::nullopt;
  return heap_.front();
}

void DeadlineHeap::pop_front() {
  std::pop_heap(heap_.begin(), heap_.end(), std::greater<>{});
  heap_.pop_back();
}

void DeadlineHeap::restore() { std::make_heap(heap_.begin(), heap_.end(), std::greater<>{}); }

}  // namespace troupe::detail
