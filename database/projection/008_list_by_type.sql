-- GET /notes?type=…: without it a page of a rare type would read the whole list.
CREATE INDEX notes_in_list_order_by_type ON catalog.notes (generation, type, revised_at DESC, note_id DESC)
  WHERE visibility = 'public';
