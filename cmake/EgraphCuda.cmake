# The plugins for CUDA devices: libegraph_cuda.so with the back-end, where nvcc, cuBLASLt and cuDNN are
# found, and libegraph_nccl.so with the transport between devices, where NCCL is, too. They share no
# symbols with the library; what they need of the lower layers they link for themselves.
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
    if(CUDAToolkit_FOUND AND TARGET CUDA::cublasLt AND cudnn_include AND cudnn_library)
      set(EGRAPH_HAVE_CUDA ON)
    endif()
  endif()
endif()
if(NOT EGRAPH_HAVE_CUDA)
  message(STATUS "No CUDA back-end in this build: it needs -DEGRAPH_CUDA=ON, nvcc, cuBLASLt and cuDNN, and no sanitizers")
  return()
endif()

file(GLOB cuda_sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/exec/cuda/*.c" "${CMAKE_SOURCE_DIR}/exec/cuda/*.cu"
     "${CMAKE_SOURCE_DIR}/exec/plugin/*.c")
add_library(egraph_cuda MODULE ${cuda_sources})
set_target_properties(egraph_cuda PROPERTIES
  LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}" LINKER_LANGUAGE C
  CUDA_STANDARD 17 CUDA_STANDARD_REQUIRED ON CUDA_VISIBILITY_PRESET hidden)
target_include_directories(egraph_cuda PRIVATE "${CMAKE_SOURCE_DIR}" "${CMAKE_BINARY_DIR}")
target_include_directories(egraph_cuda SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS} ${cudnn_include})
# A plugin for C programs: nothing of the C++ runtime.
target_compile_options(egraph_cuda PRIVATE
  "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-fno-exceptions,-fno-rtti,-fno-threadsafe-statics>"
  "$<$<COMPILE_LANGUAGE:C>:$<TARGET_PROPERTY:egraph_flags,INTERFACE_COMPILE_OPTIONS>>")
target_link_libraries(egraph_cuda PRIVATE eg_pcg eg_ops eg_base CUDA::cudart_static CUDA::cublasLt
                      ${cudnn_library} m)
target_link_options(egraph_cuda PRIVATE -Wl,--exclude-libs,ALL -Wl,--gc-sections)

find_path(nccl_include nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
find_library(nccl_library nccl HINTS ${CUDAToolkit_LIBRARY_DIR})
if(NOT nccl_include OR NOT nccl_library)
  message(STATUS "No transport over NCCL in this build: nccl.h or libnccl is missing")
  return()
endif()
set(EGRAPH_HAVE_NCCL ON)
file(GLOB nccl_sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/exec/nccl/*.c" "${CMAKE_SOURCE_DIR}/exec/plugin/*.c")
add_library(egraph_nccl MODULE ${nccl_sources})
set_target_properties(egraph_nccl PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}" LINKER_LANGUAGE C)
target_include_directories(egraph_nccl SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS} ${nccl_include})
target_link_libraries(egraph_nccl PRIVATE eg_pcg eg_ops eg_base egraph_flags CUDA::cudart_static ${nccl_library} m)
target_link_options(egraph_nccl PRIVATE -Wl,--exclude-libs,ALL -Wl,--gc-sections)
