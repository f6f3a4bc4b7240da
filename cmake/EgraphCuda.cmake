# The plugins for CUDA devices: libegraph_cuda.so with the back-end, where nvcc, cuBLASLt and cuDNN are
# found, and libegraph_nccl.so with the transport between devices, where NCCL is, too.
option(EGRAPH_CUDA "Build the plugins for CUDA devices (they have not run on a device yet)" OFF)
set(EGRAPH_HAVE_CUDA OFF)
set(EGRAPH_HAVE_NCCL OFF)
if(EGRAPH_CUDA AND NOT EGRAPH_SANITIZE AND NOT EGRAPH_COVERAGE AND NOT EGRAPH_FUZZ)
  find_program(egraph_nvcc nvcc PATHS ENV CUDA_HOME PATH_SUFFIXES bin)
  find_program(egraph_nvcc nvcc PATHS /usr/local/cuda /opt/cuda PATH_SUFFIXES bin)
  if(egraph_nvcc)
    if(NOT CMAKE_CUDA_COMPILER)
      set(CMAKE_CUDA_COMPILER "${egraph_nvcc}")
    endif()
    if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
      set(CMAKE_CUDA_ARCHITECTURES 80-real 90) # code for sm_80 and sm_90, PTX for what comes after
    endif()
    enable_language(CUDA)
    find_package(CUDAToolkit QUIET)
    find_path(cudnn_include cudnn.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
    find_library(cudnn_library cudnn HINTS ${CUDAToolkit_LIBRARY_DIR})
    find_file(cuda_runtime_header cuda_runtime_api.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
    set(loads_kernels "")
    if(cuda_runtime_header) # old toolkits lack it
      file(STRINGS "${cuda_runtime_header}" loads_kernels REGEX "cudaLibraryLoadData" LIMIT_COUNT 1)
    endif()
    if(CUDAToolkit_FOUND AND TARGET CUDA::cublasLt AND cudnn_include AND cudnn_library AND loads_kernels)
      set(EGRAPH_HAVE_CUDA ON)
    endif()
  endif()
endif()
if(NOT EGRAPH_HAVE_CUDA)
  message(STATUS "No CUDA back-end in this build: it needs -DEGRAPH_CUDA=ON, nvcc, cuBLASLt and cuDNN, a runtime with "
                 "cudaLibraryLoadData, and no sanitizers")
  return()
endif()

# Kernels that are compiled while the program runs include these files, from a copy in the plugin.
add_library(eg_device_text STATIC)
set_target_properties(eg_device_text PROPERTIES POSITION_INDEPENDENT_CODE ON)
target_include_directories(eg_device_text PRIVATE "${CMAKE_SOURCE_DIR}")
eg_embed(eg_device_text exec/cuda/device "h|cuh" exec/cuda/device_text.h eg_device_text)

file(GLOB cuda_sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/exec/cuda/*.c" "${CMAKE_SOURCE_DIR}/exec/cuda/*.cu")
eg_plugin(egraph_cuda SOURCES ${cuda_sources} LINK eg_device_text CUDA::cudart_static CUDA::cublasLt
          ${cudnn_library} ${CMAKE_DL_LIBS})
set_target_properties(egraph_cuda PROPERTIES
  CUDA_STANDARD 17 CUDA_STANDARD_REQUIRED ON CUDA_VISIBILITY_PRESET hidden)
target_include_directories(egraph_cuda SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS} ${cudnn_include})
# A plugin for C programs: nothing of the C++ runtime.
target_compile_options(egraph_cuda PRIVATE
  "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-fno-exceptions,-fno-rtti,-fno-threadsafe-statics>"
  "$<$<COMPILE_LANGUAGE:CUDA>:--compress-mode=size>"
  "$<$<COMPILE_LANGUAGE:C>:$<TARGET_PROPERTY:egraph_flags,INTERFACE_COMPILE_OPTIONS>>")

find_path(nccl_include nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
find_library(nccl_library nccl HINTS ${CUDAToolkit_LIBRARY_DIR})
if(NOT nccl_include OR NOT nccl_library)
  message(STATUS "No transport over NCCL in this build: nccl.h or libnccl is missing")
  return()
endif()
set(EGRAPH_HAVE_NCCL ON)
eg_plugin(egraph_nccl SOURCES exec/nccl/nccl_transport.c LINK egraph_flags CUDA::cudart_static ${nccl_library})
target_include_directories(egraph_nccl SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS} ${nccl_include})
