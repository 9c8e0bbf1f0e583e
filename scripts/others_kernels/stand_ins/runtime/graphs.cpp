// Graphs: the work that a stream is given while it is captured, in the order in which it is issued. Each launch of a
// graph does all of it again.
#include "shared.h"

#include <vector>

using namespace stand_in;

namespace {

using Graph = std::vector<Work>;

struct Capture {
  cudaStream_t stream = nullptr;
  Graph* graph = nullptr;  // null if no stream is captured
};

Capture& capture() {
  static Capture of;
  return of;
}

}  // namespace

namespace stand_in {

cudaError_t issue(cudaStream_t stream, const Work& work) {
  const Turn turn(turns());
  if (!capture().graph || capture().stream != stream) return work();
  capture().graph->push_back(work);
  return cudaSuccess;
}

}  // namespace stand_in

extern "C" {

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  const Turn turn(turns());
  if (!stream || capture().graph) return error(cudaErrorStreamCaptureUnsupported);
  capture() = {stream, new Graph};
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  const Turn turn(turns());
  if (!capture().graph || capture().stream != stream) return error(cudaErrorStreamCaptureInvalidated);
  *graph = reinterpret_cast<cudaGraph_t>(capture().graph);
  capture() = {};
  return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  const Turn turn(turns());
  const bool is = capture().graph && capture().stream == stream;
  *status = is ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* made, cudaGraph_t graph, unsigned long long) {
  *made = reinterpret_cast<cudaGraphExec_t>(new Graph(*reinterpret_cast<Graph*>(graph)));
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* made, cudaGraph_t graph, unsigned long long flags) {
  return cudaGraphInstantiate(made, graph, flags);
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t) {
  for (const Work& work : *reinterpret_cast<Graph*>(graph))
    if (const cudaError_t failed = work()) return failed;
  return cudaSuccess;
}
cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t) { return cudaSuccess; }
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) {
  delete reinterpret_cast<Graph*>(graph);
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete reinterpret_cast<Graph*>(graph);
  return cudaSuccess;
}

}  // extern "C"
