#include "actors/references/notices.h"

#include <utility>

#include "actors/core/guarded.h"
#include "actors/core/node_core.h"

namespace troupe::detail {

void send_notices(NodeCore& node, const RRefNotices& notices) noexcept try {
  for (auto next = notices.begin(); next != notices.end();) {
    const RRefNotice& notice = *next++;
    switch (notice.kind) {
      case RRefNotice::Kind::forked:
        node.notify(notice.to, "rref/" + notice.rref.text(), msg::RRefForked{notice.rref, notice.fork, notice.parent},
                    Haste::rides);
        break;
      case RRefNotice::Kind::deleted:
        node.notify(notice.to, "rref/" + notice.rref.text(), msg::RRefDeleted{notice.rref, notice.fork},
                    Haste::follows);
        break;
      case RRefNotice::Kind::acknowledged: {
        msg::RRefForkAck ack{{{notice.rref, notice.fork}}};
        const auto goes_with_it = [&] {
          return next != notices.end() && next->kind == notice.kind && next->to == notice.to &&
                 ack.forks.size() < msg::kForkAcksMax;
        };
        for (; goes_with_it(); ++next) ack.forks.push_back({next->rref, next->fork});
        node.notify(notice.to, "references", std::move(ack), Haste::rides);
        break;
      }
      case RRefNotice::Kind::undone:
        node.notify(notice.to, "rref/" + notice.rref.text(), msg::RRefRevoked{notice.rref, notice.fork, notice.why});
        break;
    }
  }
} catch (...) {
  node.fail(failure_of_current_exception("a reference"));
}

}  // namespace troupe::detail
