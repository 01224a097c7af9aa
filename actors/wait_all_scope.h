// A scope that counts the calls made through it.
#pragma once

#include <memory>

#include "actors/scope.h"

namespace troupe {

/// Counts the calls and fetches made through it, and through scopes that its `with` returns. It counts neither the
/// calls that the called functions make, nor `remote`: RRef::created tells when that value exists. Thread rule: any
/// thread may call any member.
///
///   WaitAllScope calls(scope);
///   const Future<Tensor> a = calls.rpc_async("ps0", &half, x);
///   const Future<Tensor> b = calls.rpc_async("ps1", &half, x);
///   calls.wait_all();
class WaitAllScope final : public Scope {
 public:
  explicit WaitAllScope(const Scope& scope);

  /// Cancels the open calls without waiting for them.
  ~WaitAllScope();
  WaitAllScope(const WaitAllScope&) = delete;
  WaitAllScope& operator=(const WaitAllScope&) = delete;

  /// Waits until no call is open. If a call has failed since the last wait, throws what Future::get of the first such
  /// call throws. The scope stays usable.
  void wait_all();
};

}  // namespace troupe
