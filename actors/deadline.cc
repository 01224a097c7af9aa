#include "actors/deadline.h"

namespace troupe {

Deadline::Deadline() : Deadline(kDefaultDeadline) {}

Deadline Deadline::while_peer_lives() {
  Deadline deadline;
  deadline.after_.reset();
  return deadline;
}

}  // namespace troupe
