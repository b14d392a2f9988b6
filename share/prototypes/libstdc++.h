// SPDX-License-Identifier: MIT
// Made by tools/prototypes from the headers of libstdc++-12-dev 12.2.0-14+deb12u1.
// library: libstdc++.so.6
typedef unsigned long std::align_val_t;
__cxxabiv1::__cxa_dependent_exception *__cxa_allocate_dependent_exception(void);
__cxxabiv1::__cxa_eh_globals *__cxa_get_globals(void);
__cxxabiv1::__cxa_eh_globals *__cxa_get_globals_fast(void);
__cxxabiv1::__cxa_refcounted_exception *__cxa_init_primary_exception(void *object, std::type_info *tinfo, void (*dest)(void *));
bool std::uncaught_exception(void);
char *__cxa_demangle(const char *mangled_name, char *output_buffer, size_t *length, int *status);
int __cxa_guard_acquire(__cxxabiv1::__guard *arg1);
int __cxa_thread_atexit(void (*arg1)(void *), void *arg2, void *arg3);
int std::uncaught_exceptions(void);
std::type_info *__cxa_current_exception_type(void);
unsigned long std::_Fnv_hash_bytes(void const *ptr, unsigned long len, unsigned long seed);
unsigned long std::_Hash_bytes(void const *ptr, unsigned long len, unsigned long seed);
void *__cxa_allocate_exception(unsigned long arg1);
void *__cxa_begin_catch(void *arg1);
void *__cxa_get_exception_ptr(void *arg1);
void *__cxa_vec_new(unsigned long element_count, unsigned long element_size, unsigned long padding_size, __cxxabiv1::__cxa_cdtor_return_type (*constructor)(void *), __cxxabiv1::__cxa_cdtor_return_type (*destructor)(void *));
void *__cxa_vec_new2(unsigned long element_count, unsigned long element_size, unsigned long padding_size, __cxxabiv1::__cxa_cdtor_return_type (*constructor)(void *), __cxxabiv1::__cxa_cdtor_return_type (*destructor)(void *), void *(*alloc)(size_t), void (*dealloc)(void *));
void *__cxa_vec_new3(unsigned long element_count, unsigned long element_size, unsigned long padding_size, __cxxabiv1::__cxa_cdtor_return_type (*constructor)(void *), __cxxabiv1::__cxa_cdtor_return_type (*destructor)(void *), void *(*alloc)(size_t), void (*dealloc)(void *, size_t));
void *__dynamic_cast(const void *src_ptr, const __cxxabiv1::__class_type_info *src_type, const __cxxabiv1::__class_type_info *dst_type, long src2dst);
void *operator new(unsigned long arg1);
void *operator new(unsigned long arg1, std::align_val_t arg2);
void *operator new(unsigned long arg1, std::align_val_t arg2, std::nothrow_t const& arg3);
void *operator new(unsigned long arg1, std::nothrow_t const& arg2);
void *operator new[](unsigned long arg1);
void *operator new[](unsigned long arg1, std::align_val_t arg2);
void *operator new[](unsigned long arg1, std::align_val_t arg2, std::nothrow_t const& arg3);
void *operator new[](unsigned long arg1, std::nothrow_t const& arg2);
void *std::get_new_handler(void);
void *std::get_terminate(void);
void *std::get_unexpected(void);
void *std::set_new_handler(void (*arg1)());
void *std::set_terminate(void (*arg1)());
void *std::set_unexpected(void (*arg1)());
void __cxa_bad_cast(void); // does not return
void __cxa_bad_typeid(void); // does not return
void __cxa_deleted_virtual(void); // does not return
void __cxa_end_catch(void);
void __cxa_free_dependent_exception(__cxxabiv1::__cxa_dependent_exception *arg1);
void __cxa_free_exception(void *arg1);
void __cxa_guard_abort(__cxxabiv1::__guard *arg1);
void __cxa_guard_release(__cxxabiv1::__guard *arg1);
void __cxa_pure_virtual(void); // does not return
void __cxa_rethrow(void); // does not return
void __cxa_throw(void *arg1, std::type_info *arg2, void (*arg3)(void *)); // does not return
void __cxa_throw_bad_array_new_length(void); // does not return
void __cxa_vec_cleanup(void *array_address, unsigned long element_count, unsigned long s, __cxxabiv1::__cxa_cdtor_return_type (*destructor)(void *));
void __cxa_vec_delete(void *array_address, unsigned long element_size, unsigned long padding_size, __cxxabiv1::__cxa_cdtor_return_type (*destructor)(void *));
void __cxa_vec_delete2(void *array_address, unsigned long element_size, unsigned long padding_size, __cxxabiv1::__cxa_cdtor_return_type (*destructor)(void *), void (*dealloc)(void *));
void __cxa_vec_delete3(void *array_address, unsigned long element_size, unsigned long padding_size, __cxxabiv1::__cxa_cdtor_return_type (*destructor)(void *), void (*dealloc)(void *, size_t));
void __cxa_vec_dtor(void *array_address, unsigned long element_count, unsigned long element_size, __cxxabiv1::__cxa_cdtor_return_type (*destructor)(void *));
void __gnu_cxx::__verbose_terminate_handler(void);
void operator delete(void *arg1);
void operator delete(void *arg1, std::align_val_t arg2);
void operator delete(void *arg1, std::align_val_t arg2, std::nothrow_t const& arg3);
void operator delete(void *arg1, std::nothrow_t const& arg2);
void operator delete(void *arg1, unsigned long arg2);
void operator delete(void *arg1, unsigned long arg2, std::align_val_t arg3);
void operator delete[](void *arg1);
void operator delete[](void *arg1, std::align_val_t arg2);
void operator delete[](void *arg1, std::align_val_t arg2, std::nothrow_t const& arg3);
void operator delete[](void *arg1, std::nothrow_t const& arg2);
void operator delete[](void *arg1, unsigned long arg2);
void operator delete[](void *arg1, unsigned long arg2, std::align_val_t arg3);
void std::terminate(void); // does not return
void std::unexpected(void); // does not return
