"""The codes of reasons why Python runs something: what each means, and what to change so that Go runs it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Reason:
    """Sentences without their full stops."""

    means: str
    change: str


REASONS = {
    # The loader, and the process it runs in
    "LOOKED_AT": Reason("an object raised an error while it was looked at", "see the text"),
    "DOOR_CLOSED": Reason("`GOLOADER` in the environment closes this door", "unset `GOLOADER`"),
    "LIBRARY": Reason("goloader's library cannot be loaded here", "do what the text says; Linux with glibc is needed"),
    "FORKED": Reason(
        "the process was forked after goloader had been loaded, and Go does not survive a fork",
        "start it by spawn or forkserver, or fork before the first loader is used",
    ),
    "IN_WORKER": Reason(
        "the loader runs inside a worker process of another one", "iterate over it in the main process, if you can"
    ),
    "INIT_FN": Reason(
        "`worker_init_fn` changes what workers load, fails, or cannot be tried without fork",
        "let it seed and set up only; build the dataset before the loader",
    ),
    "IN_ORDER": Reason("`in_order=False` with worker processes", "leave it out"),
    "ON_ERROR": Reason(
        "`on_error` is a function, or there are worker processes that record what the dataset does with images",
        '`on_error="skip"` or `"replace"`; `num_workers=0` for recorded images',
    ),
    "LOADER_ITERATOR": Reason("a subclass has a `_get_iterator` of its own", "leave that method out of the subclass"),
    "NO_SLOTS": Reason(
        "batches of worker processes go torch's way, so nothing of theirs is recorded",
        "see why in the row `batches` of explain()",
    ),
    "RNG_SAMPLE": Reason(
        '`rng="sample"` with worker processes that run code of your own', "use `num_workers=0`, or leave `rng` out"
    ),
    "TORCH_DEFAULTS": Reason(
        "torch's default dtype or device was changed", "set these where the model is made, not for all of torch"
    ),
    "TRACE_OFF": Reason("`trace=False`", "leave it out"),
    "BEHAVIOUR_UNKNOWN": Reason(
        "a version of Pillow, torch, torchvision or numpy does something in a way that goloader does not know",
        "install versions of the table in the README; report the versions",
    ),
    "FUNCTION_REPLACED": Reason(
        "a function or method of torch's or torchvision's was replaced, so that it may do anything",
        "put what it does into a transform or a dataset of your own",
    ),
    # What puts samples together
    "BATCH_SIZE_NONE": Reason(
        "`batch_size=None` gives samples whose type, strides or memory only Python keeps", "use a batch_size"
    ),
    "COLLATE_FIELDS": Reason(
        "the collate_fn does something else with samples such as these", "see which fields its documentation asks for"
    ),
    "COLLATE_OWN": Reason(
        "a `collate_fn` of your own that does more than is compiled, or a changed `default_collate_fn_map`",
        "write it with what docs/arrays.md lists, or use `Pad`, `Jagged` and `Pack` of `goloader.collate`, whose "
        "`others` takes a function; images that the dataset opens are Go's all the same",
    ),
    "COLLATE_GOES_ON": Reason(
        "Go makes what `default_collate` gives, and Python runs what a `collate_fn` of your own does with it, one "
        "batch at a time",
        "nothing; what takes long there may be done as the batch is used",
    ),
    "COLLATE_KEEPS": Reason(
        "a `collate_fn` of your own that goes on with `default_collate`'s batch may keep something from batch to "
        "batch, of which each worker process has its own",
        "draw from torch's, Python's or numpy's own generators; assign no attributes or global variables there",
    ),
    "COLLATE_PADDING": Reason(
        "torch cannot pad this dtype so, or pads by a rule that Go does not follow", "pad with a number of that dtype"
    ),
    "SMALL_BATCHES": Reason(
        "without worker processes, a batch is so little that Python has it sooner than Go is asked for it",
        "nothing; with a larger batch_size Go does it",
    ),
    "ROWS_DIFFER": Reason("samples differ in length, or are too short", "`collate_fn=goloader.collate.Pad()`"),
    # What is done to an image
    "HOOKS": Reason("a module among the transforms, or all of torch.nn, has hooks", "remove the hooks"),
    "MASK_TRANSFORM": Reason(
        "what this transform, or its arguments, make of a mask is not known",
        "use torchvision's v2 with a plain fill and nearest or bilinear filters",
    ),
    "NO_TENSOR": Reason("nothing makes a tensor of the image", "add `ToTensor()`, or `ToImage()` and `ToDtype(...)`"),
    "TENSOR_GEOMETRY": Reason(
        "a resize or border of a tensor that is not uint8, or by torchvision's v1: another arithmetic than Pillow's",
        "put it before the step that makes a tensor",
    ),
    "TENSOR_STEPS": Reason(
        "what follows the step that makes a tensor is no function of each byte by itself, raises, or makes no tensor",
        "move the step into the training loop, or before the one that makes a tensor",
    ),
    "TRANSFORM_ARGUMENT": Reason("a transform has an argument that Go does not know", "see the text for which"),
    "TRANSFORM_JOINT": Reason(
        "the transform takes image and label together", "use one for the image, or torchvision's v2"
    ),
    "TRANSFORM_LIMIT": Reason("more steps than an image may take in Go", "leave some out"),
    "TRANSFORM_LIST": Reason(
        "the container has no list of transforms, or an empty one", "give it a list of transforms"
    ),
    "TRANSFORM_ORDER": Reason(
        "the transform stands where Go does not know it: before or behind the step that makes a tensor, behind "
        "RandomErasing, or before images have one mode",
        "change their order; `Grayscale` or `v2.RGB` in front settles the mode",
    ),
    "TRANSFORM_UNKNOWN": Reason(
        "a transform that is not compiled; where its code can be recorded, Go makes the pixels all the same",
        "see the README for those that are compiled, or write it with what is",
    ),
    # Where samples come from
    "ARRAY_LAYOUT": Reason(
        "an array's dtype, order of bytes, dimensions or layout are not what Go reads",
        "write it again as a plain `.npy`",
    ),
    "CLASS_LEFT": Reason(
        "a class of torchvision's whose samples only Python can make", "nothing: it is left to Python"
    ),
    "CLASS_OVERRIDES": Reason(
        "a subclass changes how samples or attributes are got, or has `__getitems__`",
        "leave that method out; change samples in a transform, or in a dataset around this one",
    ),
    "CODE_UNREAD": Reason(
        "a class of your own whose code is more than arithmetic on rows and windows of arrays, or opening an image and "
        "transforming it",
        "write `__getitem__` with fewer kinds of things; images are Go's all the same where they can be recorded",
    ),
    "DATASET_OPTIONS": Reason(
        "options of a dataset of torchvision's give samples that are no image and number", "see the text for which"
    ),
    "DATASET_STATE": Reason(
        "the dataset has a `state_dict()`: samples may change it", "leave it out, if samples do not depend on it"
    ),
    "FIELDS": Reason("samples have too many fields, or images beside rows of arrays", "split them into two datasets"),
    "FILE_LIST": Reason(
        "the list of files is no list of (path, label) tuples, or has a path that cannot be one",
        "use `str` paths and `int` labels in a list",
    ),
    "FOREIGN_FILES": Reason(
        "many files are of kinds that only Pillow reads, and torch's workers do so in parallel",
        "convert them to PNG or JPEG",
    ),
    "IMAGE_LOADER": Reason(
        "the dataset has a `loader` of its own, or torchvision another image backend",
        "use torchvision's default loader and `set_image_backend('PIL')`",
    ),
    "INDICES": Reason("indices that are not plain ints, or below 0", "use a list of ints, or an int64 array"),
    "ITERABLE": Reason("an IterableDataset runs its own code", "nothing: images that it opens are recorded"),
    "STREAM_STAGE": Reason(
        "a stage of a pipeline of shards does what only Python knows",
        "see the text; to_tuple or to_dict behind decode, torchvision's transforms in map_tuple or map_dict",
    ),
    "STREAM_COLUMN": Reason(
        "texts, JSON and bytes of a stream become Python's objects, of what Go has read and taken apart",
        "nothing: numbers and images come as tensors",
    ),
    "LABELS": Reason("labels that are no ints, or not as many as images", "use a list of ints, or an int64 array"),
    "LENGTH_CHANGED": Reason("a dataset inside another has changed its length since", "make the outer dataset anew"),
    "MASKS": Reason(
        "masks of several modes, or of one that Go does not read", "write them as 8-bit PNG, all P or all L"
    ),
    "NO_IMAGES": Reason("nothing that opens images was imported, so that there is nothing to record", "nothing"),
    "PARTS_DIFFER": Reason("datasets that are put together differ in fields, dtypes or shapes", "make them alike"),
    "PILLOW_PLUGIN": Reason("another package opens such files in Pillow's place", "leave its plugin out"),
    "PIXELS": Reason("images in memory are not of uint8, of one size, or of the class's layout", "store them so"),
    "IN_LISTS": Reason(
        "samples are in lists already, of which torch makes batches as quickly where there are no workers",
        "keep tensors in place of lists of tensors, or use `num_workers` above 0",
    ),
    "SMALL_EPOCHS": Reason(
        "without workers, an epoch takes torch less time than Go takes to begin",
        "nothing; once all epochs together have taken half a second, Go takes over",
    ),
    "NO_GAIN": Reason(
        "the dataset's code opens no images, or looks at so much that recording it saves no time",
        "see the lines that explain() names: what is done to an image before anybody looks at it is Go's",
    ),
    "OUTSIDE_EFFECTS": Reason(
        "the dataset's code changes files, connects, or starts programs, which a trial of it must not",
        "do that before or behind the loader",
    ),
    "RECORDING_ENDED": Reason(
        "samples of the dataset could not be tried, or a stand-in was in the way of its code", "see the text"
    ),
    "SAMPLES_DIFFER": Reason(
        "a trial found that samples made by Go are not those of the dataset, so Python makes them",
        "please report it with the versions that the warning names",
    ),
    "SAMPLES_KEPT": Reason(
        "the dataset keeps what it opens, in a cache say, so that it has to be made at once",
        "leave the cache to the page cache of the system, or keep encoded bytes",
    ),
    "TARGET_TRANSFORM": Reason("the dataset has a target_transform", "change the labels once, in the dataset's list"),
    "TENSOR_LAYOUT": Reason(
        "a tensor is not plain CPU memory (device, layout, gradient), or tensors differ in length",
        "keep `x.detach().cpu().contiguous()`, all of one length",
    ),
    "WRAPPED": Reason(
        "the dataset is wrapped in another way than `wrap_dataset_for_transforms_v2` does for one mask",
        "wrap the plain dataset, with its default target_keys",
    ),
}
