#include "node/links/on_this_host.h"

#include <exception>
#include <system_error>
#include <thread>
#include <utility>

#include "node/links/socket_address.h"

namespace troupe {

OnThisHost::OnThisHost(std::string address)
    : OnThisHost(std::move(address), [](std::string_view of) { return is_of_this_host(of, HostNames::look_up); }) {}

OnThisHost::OnThisHost(std::string address, LookUp look_up)
    : address_(std::move(address)), look_up_(std::move(look_up)) {}

bool OnThisHost::is_known() {
  if (found_->load() == Found::nothing) {
    found_->store(found(is_of_this_host(address_, HostNames::refuse)));
    if (found_->load() == Found::nothing) look_up();
  }
  return found_->load() == Found::here;
}

OnThisHost::Found OnThisHost::found(const std::optional<bool>& is_here) {
  if (!is_here) return Found::nothing;
  return *is_here ? Found::here : Found::elsewhere;
}

void OnThisHost::look_up() const {
  found_->store(Found::awaited);
  try {
    std::thread([address = address_, look_up = look_up_, found = found_] {
      try {
        found->store(OnThisHost::found(look_up(address)));
      } catch (const std::exception&) {  // no memory: ask again
        found->store(Found::nothing);
      }
    }).detach();
  } catch (const std::system_error&) {  // no thread to spare now
    found_->store(Found::nothing);
  }
}

}  // namespace troupe
