#include "actors/sessions/call_credit.h"

namespace troupe {

void CreditAccount::give_back(Charge charge, std::uint64_t bytes) {
  Side& side = this->side(charge);
  side.bytes.fetch_add(bytes, std::memory_order_acq_rel);
  const std::uint64_t calls = side.calls.fetch_add(1, std::memory_order_seq_cst) + 1;
  std::uint64_t wanted = side.tell_at.load(std::memory_order_seq_cst);
  if (calls < wanted || !side.tell_at.compare_exchange_strong(wanted, kNever)) return;
  told_();
}

// Stored first, then compared: either this thread sees the returned call, or that call's thread sees the request.
void CreditAccount::tell_at(Charge charge, std::uint64_t calls) {
  Side& side = this->side(charge);
  side.tell_at.store(calls, std::memory_order_seq_cst);
  std::uint64_t wanted = calls;
  if (side.calls.load(std::memory_order_seq_cst) >= calls && side.tell_at.compare_exchange_strong(wanted, kNever))
    told_();
}

}  // namespace troupe
