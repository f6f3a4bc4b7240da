# The libraries that users link: libegraph.a and libegraph.so hold every module.
get_property(modules GLOBAL PROPERTY EG_MODULES)
set(objects "")
foreach(module IN LISTS modules)
  list(APPEND objects $<TARGET_OBJECTS:${module}>)
endforeach()
set(vendor egraph_dep_zlib egraph_dep_protobuf egraph_dep_sqlite egraph_dep_glpk
    egraph_dep_dnnl ${CMAKE_DL_LIBS})

# As the package version file promises (SameMinorVersion): before 1.0 a minor version may break programs.
set(soversion ${PROJECT_VERSION_MAJOR})
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(soversion 0.${PROJECT_VERSION_MINOR})
endif()
foreach(kind STATIC SHARED)
  string(TOLOWER ${kind} suffix)
  add_library(egraph_${suffix} ${kind} ${objects})
  set_target_properties(egraph_${suffix} PROPERTIES OUTPUT_NAME egraph LINKER_LANGUAGE C
    VERSION ${PROJECT_VERSION} SOVERSION ${soversion})
  target_include_directories(egraph_${suffix} PUBLIC
    $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include/egraph>)
  target_link_libraries(egraph_${suffix} PRIVATE ${vendor} Threads::Threads m egraph_flags)
endforeach()
