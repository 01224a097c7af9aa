#include "actors/contexts/short_work.h"

#include "autograd/hooks.h"

namespace troupe::detail {

void ShortWork::add(const GradFn& start) {
  work_ += start.work();
  is_short_ = is_short_ && work_ <= kMax && !depends_on_hooks(start);
}

}  // namespace troupe::detail
